package lambda

import (
	"fmt"
	"time"
)

// Record is one message as an invocation gets it.
type Record struct {
	MessageID     string
	ReceiptHandle string
	Body          string
	// GroupID is the MessageGroupId, "" without one.
	GroupID string
	// Attempt is the ApproximateReceiveCount, 1 on the first delivery.
	Attempt    int
	ReceivedAt time.Time
}

// Invocation is told to Mapping.Started before the function is invoked.
type Invocation struct {
	RequestID   string
	Environment int
	// ColdStart tells that a process has to be started for it. A warm one may
	// still turn out to be gone: Result.ColdStart has the last word.
	ColdStart bool
	Started   time.Time
	Records   []Record
}

// Ended is told to Mapping.Ended once an invocation is settled.
type Ended struct {
	Invocation

	// Result holds the response or the function's error, and the duration.
	Result Result

	// AllFailed says why the whole batch counts as failed, whatever the
	// response says; "" when the records were judged one by one.
	AllFailed string

	// Verdicts holds one verdict for each of Records, in their order.
	Verdicts []Verdict
}

// Filtered is told to Mapping.Filtered once the messages of a receive that match
// none of Mapping.Filters have been deleted.
type Filtered struct {
	Records []Record
	// Verdicts holds one verdict for each of Records, in their order.
	Verdicts []Verdict
}

// Verdict is what became of one record.
type Verdict struct {
	// Deleted tells that the message is gone. Otherwise it was left alone: it is
	// back when its visibility timeout ends.
	Deleted bool

	// Err is why a record that succeeded, or was filtered, could not be deleted.
	Err error
}

// PollError is what went wrong between the mapping and its queue. The mapping
// goes on in every case.
type PollError struct {
	// Operation is the SQS operation, or "Invoke" for messages whose visibility
	// ended while the function was throttled.
	Operation string
	QueueURL  string
	// Messages is how many messages the operation was about, 0 for a receive.
	Messages int
	// RetryIn is the pause before the next try, 0 when there is none.
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

// tell calls a listener, if there is one; listeners are never called side by side.
func tell[E any](p *work, listener func(E), e E) {
	if listener != nil {
		p.telling.Lock()
		defer p.telling.Unlock()
		listener(e)
	}
}

func (p *work) tellErrored(e *PollError) {
	e.QueueURL = p.QueueURL
	tell(p, p.Errored, e)
}
