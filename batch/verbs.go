package batch

import (
	"errors"
	"fmt"
	"time"
)

// Permanent marks err as an error that no retry can fix. The record goes to the dead-letter
// queue at once and does not use up its retries. Without a dead-letter queue it is an
// ordinary failure.
//
// The result wraps err, and is a failure even if err is nil.
func Permanent(err error) error { return &permanentError{err} }

type permanentError struct{ err error }

func (e *permanentError) Error() string { return message(e.err, "permanent failure") }
func (e *permanentError) Unwrap() error { return e.err }

// RetryAfter fails the record and sets the delay until SQS delivers it again, instead of the
// configured backoff: d, rounded up to whole seconds. 0 means at once; a negative d counts as 0.
// SQS's limit is 12 hours from receipt, see "Amazon SQS visibility timeout" in its Developer
// Guide.
//
// The result wraps err, and is a failure even if err is nil.
func RetryAfter(d time.Duration, err error) error {
	return &retryAfterError{max(d, 0), err}
}

type retryAfterError struct {
	after time.Duration
	err   error
}

func (e *retryAfterError) Error() string { return message(e.err, "retry after "+e.after.String()) }
func (e *retryAfterError) Unwrap() error { return e.err }

// Abort fails the record and stops the batch, because a dependency is down and other
// records would fail too. The record and the records that were not started come back after
// d or after their backoff, whichever is longer, since every delivery counts towards
// maxReceiveCount. Exception: with a d of 0 they come back at once. Running handlers continue.
//
// On Lambda, Abort stops the rest of the batch. In a long poll, records that wait for a slot are
// released, and the poller receives nothing for d. Then it tries one record before the others,
// so that a long outage costs few attempts. In a long poll, a d of 0 does no more than
// [RetryAfter]. d has the limits of RetryAfter.
//
// The order of a FIFO queue is kept: a group comes back as a whole.
//
// The result wraps err, and is a failure even if err is nil.
func Abort(d time.Duration, err error) error {
	return &abortError{max(d, 0), err}
}

type abortError struct {
	after time.Duration
	err   error
}

func (e *abortError) Error() string { return message(e.err, "aborted for "+e.after.String()) }
func (e *abortError) Unwrap() error { return e.err }

// Errors of records that neither succeeded nor failed.
var (
	// ErrDuplicate is returned by a handler or middleware when the work of the record was done
	// before: for an earlier delivery, or for another message with the same content. The record
	// is deleted, as after a success. Its outcome is [Duplicate].
	ErrDuplicate error = &doneError{Duplicate, "the work was done before"}

	// ErrExpired is returned by a handler or middleware when nobody waits for the result of the
	// record any more, as by package reply after a request's deadline. The record is deleted, as
	// after a success. Its outcome is [Expired].
	ErrExpired error = &doneError{Expired, "nobody waits for the result any more"}

	// ErrInProgress is returned, wrapped or not, by a handler or middleware when another worker
	// is doing the work of the record. Wrap it with [RetryAfter] and the time until the other
	// worker is done or has lost its claim. The outcome is [InProgress], which is not a failure.
	ErrInProgress error = &inProgressError{}
)

// doneError ends a record that is neither a success nor a failure.
type doneError struct {
	outcome Outcome
	text    string
}

func (e *doneError) Error() string { return e.text }

type inProgressError struct{}

func (*inProgressError) Error() string { return "another worker is doing the work" }

// MalformedError is returned when a record could not be decoded. Like [Permanent] it sends the
// record to the dead-letter queue. Its text never quotes the body.
type MalformedError struct {
	// Reason is the fault and its position, without any value of the body.
	Reason string
	// Err is the decoder's error, which may quote the body. It may be nil.
	Err error
}

func (e *MalformedError) Error() string { return "malformed body: " + e.Reason }

// Unwrap returns the decoder's error.
func (e *MalformedError) Unwrap() error { return e.Err }

// Errors of records whose handler did not return an error of its own.
var (
	// ErrNotStarted is returned when a record was not started: too little time was left, or
	// the record was released before its turn. The record's error wraps it.
	ErrNotStarted = errors.New("not started")
	// ErrStopped is returned, with [ErrNotStarted], when a container released the record
	// before its turn: the container stops or pauses, a hook for the record's batch hangs, or
	// the record has waited for 20 s. The record's error wraps it. Package telemetry/log
	// writes its line at level DEBUG.
	//
	// A handler may return it after [Stopping]: then its record becomes visible at once,
	// without a backoff.
	ErrStopped = fmt.Errorf("%w: released before its turn", ErrNotStarted)
	// ErrAborted is returned, with [ErrNotStarted], when a record was not started because
	// another record's handler returned [Abort]. The record's error wraps it, and also
	// wraps the other record's error.
	ErrAborted = errors.New("the batch was aborted")
	// ErrSkipped is returned when a FIFO record was skipped because an earlier record of
	// its group failed. The record's error wraps it.
	ErrSkipped = errors.New("skipped")
	// ErrAbandoned is returned when a handler was still running after its deadline and
	// grace. The record's error wraps it.
	ErrAbandoned = errors.New("abandoned")
	// ErrGoexit is returned when a handler called runtime.Goexit, as testing.T.FailNow
	// does.
	ErrGoexit = errors.New("handler called runtime.Goexit")
)

// PanicError is returned, as the error of a record, when the handler panicked.
type PanicError struct {
	// Value is the value of the panic.
	Value any
	// Stack is the stack of the panic, as runtime/debug.Stack prints it.
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("handler panicked: %v", e.Value) }

// Unwrap returns the value of the panic if that is an error, so that errors.As finds a
// runtime.Error in it.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

func message(err error, otherwise string) string {
	if err == nil {
		return otherwise
	}
	return err.Error()
}
