package batch

import "time"

// Outcome is the final state of a record. Every record of a batch has exactly one.
type Outcome uint8

const (
	// Pending is the zero value: no outcome yet. No record of a finished batch has it.
	Pending Outcome = iota
	// Succeeded: the handler returned nil. The record is deleted.
	Succeeded
	// Duplicate: the work was done before, see [ErrDuplicate]. The record is deleted.
	Duplicate
	// Expired: nobody waits for the result any more, see [ErrExpired]. The record is deleted.
	Expired
	// Retry: the handler failed. The record comes back after its backoff.
	Retry
	// InProgress: another worker is doing the work, see [ErrInProgress]. The record comes
	// back after the time of its [RetryAfter], or after its backoff.
	InProgress
	// DeadLettered: the record was sent to the dead-letter queue, and is deleted.
	DeadLettered
	// Dropped: the record failed for good and was deleted, because the configuration says
	// so (OnPermanent is "drop").
	Dropped
	// NotStarted: too little time was left, or the batch was stopped. The record comes back
	// at once. If the batch was aborted, it comes back as [Abort] says.
	NotStarted
	// Skipped: an earlier record of its FIFO group failed. The record comes back together
	// with that one.
	Skipped
	// Abandoned: the handler ignored the end of its context and may still be running. The
	// record comes back when its visibility timeout ends, or after its backoff if that is
	// later and the visibility timeout is known.
	Abandoned
)

var outcomeNames = [...]string{"pending", "succeeded", "duplicate", "expired", "retry", "in-progress", "dead-letter", "dropped", "not-started", "skipped", "abandoned"}

func (o Outcome) String() string {
	if int(o) < len(outcomeNames) {
		return outcomeNames[o]
	}
	return "unknown"
}

// Done reports whether the record is finished: SQS does not have to deliver it again, and
// the partial batch response does not list it.
func (o Outcome) Done() bool {
	return o.OK() || o == DeadLettered || o == Dropped
}

// OK reports whether the record is finished and did not fail.
func (o Outcome) OK() bool { return o == Succeeded || o == Duplicate || o == Expired }

// Result is the outcome of one record, with its details.
type Result struct {
	// Record is the record. It is shared with the handler: read it only.
	Record  *Record
	Outcome Outcome
	// Deleted is true if sqsbatch deleted the record. Otherwise Lambda deletes it. Like VisibilitySet and
	// the fields after Allowed, it is set when the record is settled.
	Deleted bool
	// VisibilitySet is true if VisibleIn is valid. Otherwise the queue's own visibility timeout decides.
	VisibilitySet bool
	// Err is why the record failed. It is nil if [Outcome.OK] is true.
	Err error
	// Started is the time of the handler's call. Zero if it was not called.
	Started time.Time
	// Duration is the time that the handler took, or the time until it was abandoned.
	Duration time.Duration
	// Allowed is the time that the handler had. 0 if it had no deadline.
	Allowed time.Duration

	// VisibleIn is the time until SQS shows the record again, counted from its failure: the
	// end of its handler, or of the handler whose failure skipped it.
	VisibleIn time.Duration
	// DeleteErr is why sqsbatch could not delete a finished record, which may therefore be
	// delivered again.
	DeleteErr error
	// DeadLetterQueue is the URL of the queue to which a DeadLettered record was sent.
	DeadLetterQueue string
	// MaxReceiveCount is the number of attempts after which SQS itself moves the record to
	// the dead-letter queue. 0 if it is not known.
	MaxReceiveCount int
}
