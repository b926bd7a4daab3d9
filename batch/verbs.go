package batch

import (
	"errors"
	"fmt"
	"time"
)

// Permanent marks err as one that no retry can mend: the record goes to the
// dead-letter queue at once, instead of failing its way there. Without a
// dead-letter queue it is an ordinary failure.
//
// The result wraps err, and is a failure even when err is nil.
func Permanent(err error) error { return &permanentError{err} }

type permanentError struct{ err error }

func (e *permanentError) Error() string { return message(e.err, "permanent failure") }
func (e *permanentError) Unwrap() error { return e.err }

// RetryAfter fails the record and says when SQS shall deliver it again, in
// place of the configured backoff: after d, in whole seconds (rounded up), 0
// for at once, and at most what SQS allows (12 hours from receipt, see "Amazon
// SQS visibility timeout" in its Developer Guide). A negative d counts as 0.
//
// The result wraps err, and is a failure even when err is nil.
func RetryAfter(d time.Duration, err error) error {
	return &retryAfterError{max(d, 0), err}
}

type retryAfterError struct {
	after time.Duration
	err   error
}

func (e *retryAfterError) Error() string { return message(e.err, "retry after "+e.after.String()) }
func (e *retryAfterError) Unwrap() error { return e.err }

// Abort fails the record and says that a dependency is down, so that others would
// fail too. The record and those that were not started come back after d or after
// their backoff, whichever is longer, since every delivery counts for
// maxReceiveCount. A d of 0 is exact: they come back at once. Running handlers go on.
//
// On Lambda that is the rest of the batch. In a long poll it is what waits for a
// slot, and nothing is received for d; then one record is tried before the others,
// so that a long outage costs few attempts. There a d of 0 is no more than
// [RetryAfter]. The bounds of d are those of RetryAfter.
//
// In FIFO queues no record overtakes another by it: a group comes back as a whole.
//
// The result wraps err, and is a failure even when err is nil.
func Abort(d time.Duration, err error) error {
	return &abortError{max(d, 0), err}
}

type abortError struct {
	after time.Duration
	err   error
}

func (e *abortError) Error() string { return message(e.err, "aborted for "+e.after.String()) }
func (e *abortError) Unwrap() error { return e.err }

// ErrDuplicate is returned by a handler, or by middleware, when the record's work was done
// before: for an earlier delivery, or for another message with the same content. The record
// is deleted as after a success; its outcome is [Duplicate].
var ErrDuplicate error = &duplicateError{}

type duplicateError struct{}

func (*duplicateError) Error() string { return "its work was done before" }

// ErrInProgress is wrapped by the error of a handler, or of middleware, when another worker
// is doing the record's work at this moment. The record is retried like any failure, best
// with [RetryAfter] for the time when the other is done or has lost its claim; its outcome
// is [InProgress], which is no failure of the handler.
var ErrInProgress error = &inProgressError{}

type inProgressError struct{}

func (*inProgressError) Error() string { return "another worker is doing its work" }

// MalformedError is returned by handlers that could not decode a record. Like
// [Permanent] it sends the record to the dead-letter queue. Its text
// says where the body is wrong and never quotes it; Unwrap gives the decoder's
// own error, which may.
type MalformedError struct {
	// Reason says what is wrong and where, without any of the body's values.
	Reason string
	Err    error
}

func (e *MalformedError) Error() string { return "malformed body: " + e.Reason }

// Unwrap returns the decoder's error.
func (e *MalformedError) Unwrap() error { return e.Err }

// Failures of records whose handler did not return an error of its own.
var (
	// ErrNotStarted is wrapped by a record's error when too little time was left
	// to start it, or it was given back before its turn.
	ErrNotStarted = errors.New("not started")
	// ErrStopped is wrapped, with [ErrNotStarted], by a record's error when a container
	// gave the record back before its turn: the container stops or pauses, a hook about
	// the record's batch hangs, or the record has waited for 20 s. Package telemetry/log
	// writes its line at level DEBUG. A handler may return it after [Stopping]: then its
	// record is made visible at once, without a backoff.
	ErrStopped = fmt.Errorf("%w: given back before its turn", ErrNotStarted)
	// ErrAborted is wrapped, with [ErrNotStarted] and the other's error, by the error
	// of a record that was not started because another one's was [Abort].
	ErrAborted = errors.New("the batch was aborted")
	// ErrSkipped is wrapped by the error of a FIFO record when an earlier one
	// of its group failed.
	ErrSkipped = errors.New("skipped")
	// ErrAbandoned is wrapped by a record's error when its handler was still
	// running after its deadline and grace.
	ErrAbandoned = errors.New("abandoned")
	// ErrGoexit is a record's error when its handler called runtime.Goexit
	// (testing.T.FailNow does).
	ErrGoexit = errors.New("handler called runtime.Goexit")
)

// PanicError is a record's error when its handler panicked.
type PanicError struct {
	// Value is what the handler panicked with.
	Value any
	// Stack is the stack of the panic, as runtime/debug.Stack prints it.
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("handler panicked: %v", e.Value) }

// Unwrap returns the panic's value when that is an error, so that errors.As
// finds a *runtime.Error in it.
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
