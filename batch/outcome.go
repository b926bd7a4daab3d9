package batch

import "time"

// Outcome is what became of a record. Every record of a batch ends in exactly one.
type Outcome uint8

const (
	// Pending is the zero value: no outcome yet. No finished batch holds it.
	Pending Outcome = iota
	// Succeeded: the handler returned nil. The record is deleted.
	Succeeded
	// Duplicate: the work was done before, see [ErrDuplicate]. The record is deleted.
	Duplicate
	// Retry: the handler failed. The record comes back after its backoff.
	Retry
	// InProgress: another worker is doing the work, see [ErrInProgress]. The record comes
	// back when its error says.
	InProgress
	// DeadLettered: the record was sent to the dead-letter queue, and is deleted.
	DeadLettered
	// Dropped: the record failed for good and was deleted because the
	// configuration says so.
	Dropped
	// NotStarted: too little time was left, or the batch was stopped. The record
	// comes back at once; if the batch was aborted, as [Abort] says.
	NotStarted
	// Skipped: an earlier record of its FIFO group failed. It comes back with that one.
	Skipped
	// Abandoned: the handler ignored the end of its context, and may still be at
	// work. The record comes back when its visibility timeout ends, or after its
	// backoff if that is later and the timeout is known.
	Abandoned
)

var outcomeNames = [...]string{"pending", "succeeded", "duplicate", "retry", "in-progress", "dead-letter", "dropped", "not-started", "skipped", "abandoned"}

func (o Outcome) String() string {
	if int(o) < len(outcomeNames) {
		return outcomeNames[o]
	}
	return "unknown"
}

// Done reports whether the record need not be delivered again: it is left out
// of the batch's failures.
func (o Outcome) Done() bool { return o == Succeeded || o == Duplicate || o == DeadLettered || o == Dropped }

// Result is what became of one record.
type Result struct {
	// Record is the record, shared with its handler: read only.
	Record  *Record
	Outcome Outcome
	// Err says why the record failed; nil when it is Succeeded or Duplicate.
	Err error
	// Started is when the handler was called; zero when it was not.
	Started time.Time
	// Duration is how long the handler took, up to its abandonment if it was.
	Duration time.Duration
	// Allowed is the time that the handler was given; 0 when it had no deadline.
	Allowed time.Duration

	// The fields below are set when the record is settled.

	// VisibleIn is after how long SQS shows the record again, counted from
	// when it failed. It holds only if VisibilitySet; otherwise the queue's own
	// visibility timeout decides.
	VisibleIn     time.Duration
	VisibilitySet bool
	// Deleted says that sqsbatch deleted the record, rather than Lambda.
	Deleted bool
	// DeleteErr is why sqsbatch could not delete a record that is done with:
	// it may be delivered again.
	DeleteErr error
	// DeadLetterQueue is the URL of the queue that a DeadLettered record went to.
	DeadLetterQueue string
	// MaxReceiveCount is the attempt after which SQS itself moves the record
	// to the dead-letter queue; 0 when unknown.
	MaxReceiveCount int
}
