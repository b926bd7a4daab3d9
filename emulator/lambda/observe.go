package lambda

import (
	"fmt"
	"time"
)

// Record is one message of an invocation.
type Record struct {
	MessageID     string
	ReceiptHandle string
	Body          string
	// GroupID is the MessageGroupId. Empty if there is none.
	GroupID string
	// Attempt is the ApproximateReceiveCount, 1 on the first delivery.
	Attempt    int
	ReceivedAt time.Time
}

// Invocation is passed to Mapping.Started before the function is invoked.
type Invocation struct {
	RequestID   string
	Environment int
	// ColdStart is true if the environment has to start. If its process ends before it gets
	// the invocation, only Result.ColdStart is true.
	ColdStart bool
	Started   time.Time
	Records   []Record
}

// Ended is passed to Mapping.Ended when an invocation is settled.
type Ended struct {
	Invocation

	// Result has the response or the function's error, and the duration.
	Result Result

	// AllFailed is the reason for which the whole batch counts as failed. Empty if it does not.
	AllFailed string

	// Verdicts has one verdict for each of Records, in the same order.
	Verdicts []Verdict
}

// Filtered is passed to Mapping.Filtered when the messages of a receive that match none of
// Mapping.Filters have been deleted.
type Filtered struct {
	Records []Record
	// Verdicts has one verdict for each of Records, in the same order.
	Verdicts []Verdict
}

// Verdict is the mapping's result for one record.
type Verdict struct {
	// Deleted is true if the message was deleted. Otherwise it comes back when its
	// visibility timeout ends.
	Deleted bool

	// Err is the error of the delete of a record that succeeded or was filtered. Nil if the
	// record was deleted or failed.
	Err error
}

// PollError is an error between the mapping and its queue. The mapping always goes on.
type PollError struct {
	// Operation is the SQS operation, or "Invoke" for messages whose visibility timeout
	// ended while the function was throttled.
	Operation string
	QueueURL  string
	// Messages is the number of messages in the operation, 0 for a receive.
	Messages int
	// RetryIn is the pause before the next try. 0 if there is no retry.
	RetryIn time.Duration
	Err     error
}

func (e *PollError) Error() string {
	text := fmt.Sprintf("%s on %s: %v", e.Operation, e.QueueURL, e.Err)
	if e.Messages > 0 {
		text += fmt.Sprintf(" (%d messages)", e.Messages)
	}
	if e.RetryIn > 0 {
		text += fmt.Sprintf("; next try in %v", e.RetryIn.Round(time.Millisecond))
	}
	return text
}

func (e *PollError) Unwrap() error { return e.Err }

// notify calls a listener that is not nil, one listener at a time.
func notify[E any](p *work, listener func(E), e E) {
	if listener != nil {
		p.listening.Lock()
		defer p.listening.Unlock()
		listener(e)
	}
}

// report passes an error to Errored.
func (p *work) report(e *PollError) {
	e.QueueURL = p.QueueURL
	notify(p, p.Errored, e)
}
