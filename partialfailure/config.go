package partialfailure

import "time"

// OnPermanent chooses what happens to a record that failed for good.
type OnPermanent string

const (
	// DeadLetter sends the record to the dead-letter queue at once. Without a dead-letter
	// queue the record is an ordinary failure. This is the default.
	DeadLetter OnPermanent = "dead-letter"
	// Retry treats the record as an ordinary failure.
	Retry OnPermanent = "retry"
	// Drop deletes the record. Its body is lost; the log has its id and error.
	Drop OnPermanent = "drop"
)

// Config configures what happens to records that fail: it is the field Failures of
// handler.Config. The zero value is ready to use. A zero field takes its value from its
// environment variable, if that is set.
type Config struct {
	// Outage is the longest outage of a dependency that records survive, 1 s to 7 h. If a
	// record fails every time, the waits between its attempts add up to at least Outage
	// before SQS moves it to the dead-letter queue. The waits follow from the queue's
	// maxReceiveCount: 2, 15, 107 and 777 s for 15 min and 5 attempts. Jitter lengthens
	// each wait by up to a half, or by up to 3 s if that is more. SQSBATCH_OUTAGE.
	// Defaults to 15 min. It excludes Backoff.
	Outage time.Duration

	// Backoff returns the backoff of a failed record, instead of Outage. SQSBATCH_BACKOFF is
	// "exponential", for [Exponential] with SQSBATCH_BACKOFF_BASE (2 s by default) and
	// SQSBATCH_BACKOFF_CAP (15 min by default). Defaults to none.
	Backoff Backoff

	// DeadLetterQueue is the URL or ARN of the queue for records that failed for good.
	// SQSBATCH_DEAD_LETTER_QUEUE. Defaults to the queue in the source queue's RedrivePolicy,
	// which is read at the first failure that needs it (sqs:GetQueueAttributes).
	DeadLetterQueue string

	// MaxReceiveCount is the maxReceiveCount of the source queue, 1 to 1,000. It has two
	// uses: to warn before SQS gives up on a record, and to dead-letter a FIFO record at
	// its last failure, so that its group can go on. If DeadLetterQueue is set, it has an
	// effect also if the queue has no RedrivePolicy. SQSBATCH_MAX_RECEIVE_COUNT. Defaults
	// to the one in the RedrivePolicy.
	MaxReceiveCount int

	// OnPermanent chooses what happens to records that failed for good or could not be
	// decoded. SQSBATCH_ON_PERMANENT. Defaults to DeadLetter, which without a dead-letter
	// queue does the same as Retry.
	OnPermanent OnPermanent

	// Name is the name of the function or service, for [Origin].By in dead letters.
	// Defaults to the function's name (AWS_LAMBDA_FUNCTION_NAME), or else the program's.
	Name string
}
