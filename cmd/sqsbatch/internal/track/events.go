package track

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/container"
)

// Outcomes of a record, as sqsbatch names them. Lost is this tool's own.
const (
	Succeeded  = "succeeded"
	Duplicate  = "duplicate"
	Expired    = "expired"
	Retry      = "retry"
	InProgress = "in-progress"
	DeadLetter = "dead-letter"
	Dropped    = "dropped"
	NotStarted = "not-started"
	Skipped    = "skipped"
	Abandoned  = "abandoned"
	// Lost: the function reported the record as failed, and Lambda deleted it
	// anyway, because the event has no ReportBatchItemFailures.
	Lost = "lost"
	// CutOff: the record's process ended before the record was handled or logged.
	CutOff = "cut-off"
	// Filtered: Lambda deleted a message that matches none of the event's filters.
	Filtered = "filtered"
)

// An Event is a [Started], [Record], [Ended], [Process], [Log] or [Warning], or the
// [sqs.Event] of a message that a message move task took. docs/emulators.md lists
// its fields in JSON.
type Event any

// Started: an invocation begins.
type Started struct {
	Invocation int // counted from 1
	RequestID  string
	Bodies     []string // of its records
	ColdStart  bool
}

// Record is the outcome of one record in one invocation.
//
// A function that uses sqsbatch has two such events for a record: one as soon as
// the function logs the record, and one with Final set once the invocation is over.
// Repeats says that the final one is equal to the first.
type Record struct {
	Invocation int    `json:"invocation"`        // 0 when what became of the message needed none
	Process    int    `json:"process,omitempty"` // of containers, counted from 1; 0 when none is known
	RequestID  string `json:"requestId"`
	MessageID  string `json:"messageId"`
	Body       string `json:"body"`
	Attempt    int    `json:"attempt"`
	Outcome    string `json:"outcome"`
	Reason     string `json:"reason"` // "" when there is none
	// PanickedAt is the line of the function that panicked, as in "orders/main.go:31".
	PanickedAt string `json:"panickedAt,omitempty"`
	// Shared says that Reason is the error of the whole invocation.
	Shared bool `json:"-"`
	// Duration is how long the handler took, and Allowed how long it was allowed to
	// take. Both are negative when not known, as with a function without sqsbatch.
	Duration time.Duration `json:"-"`
	Allowed  time.Duration `json:"-"`
	// Age is the time since the message was sent; negative when not known.
	Age time.Duration `json:"-"`
	// VisibleIn is the time until the record comes back; negative if it does not come
	// back, or if that is not known.
	VisibleIn time.Duration `json:"-"`
	// DeadLetterQueue is the name of the queue that the record went to.
	DeadLetterQueue string `json:"deadLetterQueue,omitempty"`
	// LastAttempt says that SQS moves the record to the dead-letter queue instead of
	// delivering it again, because it failed as often as maxReceiveCount allows.
	LastAttempt bool `json:"-"`
	Final       bool `json:"-"`
	Repeats     bool `json:"-"`
}

// MarshalJSON writes a line of type "record".
func (r Record) MarshalJSON() ([]byte, error) {
	type fields Record // without this method
	return marshal(struct {
		Type string `json:"type"`
		fields
		Duration  *float64 `json:"durationMs"` // null when not known
		Allowed   *float64 `json:"allowedMs"`
		VisibleIn *float64 `json:"visibleInMs"` // null when it does not come back
	}{"record", fields(r), milliseconds(r.Duration), milliseconds(r.Allowed), milliseconds(r.VisibleIn)})
}

// Done says whether the record is gone from its queue.
func (r Record) Done() bool {
	switch r.Outcome {
	case Succeeded, Duplicate, Expired, DeadLetter, Dropped, Lost, Filtered:
		return true
	}
	return false
}

// Ended: an invocation is over and each of its records has its final outcome.
type Ended struct {
	Invocation int           `json:"invocation"`
	RequestID  string        `json:"requestId"`
	Records    int           `json:"records"`
	Deleted    int           `json:"deleted"` // how many left the queue
	Back       int           `json:"back"`    // how many come back
	Duration   time.Duration `json:"-"`
	Timeout    time.Duration `json:"-"`
	ColdStart  bool          `json:"coldStart"`
	Init       time.Duration `json:"-"`                   // of a cold start
	Error      string        `json:"error,omitempty"`     // the function's error, "" when it answered
	AllFailed  string        `json:"allFailed,omitempty"` // why every record counts as failed although it answered
}

// MarshalJSON writes a line of type "invocation".
func (e Ended) MarshalJSON() ([]byte, error) {
	type fields Ended // without this method
	line := struct {
		Type string `json:"type"`
		fields
		Duration *float64 `json:"durationMs"`
		Timeout  *float64 `json:"timeoutMs"`
		Init     *float64 `json:"initMs,omitempty"`
	}{"invocation", fields(e), milliseconds(e.Duration), milliseconds(e.Timeout), nil}
	if e.ColdStart {
		line.Init = milliseconds(e.Init)
	}
	return marshal(line)
}

// Process says that a long-polling process has started or ended.
type Process struct {
	container.Change
	// CutOff counts records that it may have held at its end; -1: others may, too.
	CutOff int `json:"cutOff,omitempty"`
}

// MarshalJSON writes a line of type "process".
func (p Process) MarshalJSON() ([]byte, error) {
	type fields Process // without this method
	line := struct {
		Type string `json:"type"`
		fields
		Again *float64 `json:"againInMs,omitempty"` // not there when it is not started again
	}{"process", fields(p), nil}
	if p.Again > 0 {
		line.Again = milliseconds(p.Again)
	}
	return marshal(line)
}

// Log is one line of the function's own output.
type Log struct {
	Invocation int // 0 outside invocations
	Process    int // of containers, counted from 1
	Stream     string
	Text       string
}

// Warning is a warning of the toolkit or of this tool.
type Warning struct {
	Text    string
	Serious bool // it needs attention now
	// MessageID and Body are those of the message that the warning is about, if any.
	MessageID, Body string
}

// Progress is the state of the run. Every message sent is in exactly one of the
// counts from Succeeded to Waiting.
type Progress struct {
	Sent         int `json:"sent"`
	Succeeded    int `json:"succeeded"`
	Duplicates   int `json:"duplicates,omitempty"`
	Expired      int `json:"expired,omitempty"`
	DeadLettered int `json:"deadLettered"`
	Dropped      int `json:"dropped"`
	Lost         int `json:"lost"`
	Filtered     int `json:"filtered"`
	// Moved counts messages that a message move task took to another queue. It does not
	// count a dead letter that such a task brings back: that one is in the queue again.
	Moved int `json:"moved"`
	// Removed counts messages that were deleted by another receiver, purged, or expired.
	Removed int `json:"removed"`
	// InFlight counts messages that are in an invocation now.
	InFlight int `json:"-"`
	// Waiting counts messages that are in the queue, to be received at once or later.
	Waiting int `json:"-"`
	// Retried counts how often a record came back to its queue.
	Retried     int `json:"retried"`
	Invocations int `json:"invocations"`
	// HandledAgain counts records that were handled again because their deletion
	// had failed. Starts and Crashes count processes. Only containers have these.
	HandledAgain int `json:"handledAgain,omitempty"`
	Starts       int `json:"starts,omitempty"`
	Crashes      int `json:"crashes,omitempty"`
	// Next is the body of the message that becomes visible first, when none is
	// visible now, and NextIn how long that takes.
	Next   string        `json:"-"`
	NextIn time.Duration `json:"-"`
}

// Dead is a message in the dead-letter queue.
type Dead struct {
	MessageID, Body, Reason string
	Attempt                 int
}

// marshal is json.Marshal without escapes for HTML.
func marshal(v any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return text.Bytes(), err
}

// milliseconds is d in milliseconds, to the microsecond, and nil when d is negative.
func milliseconds(d time.Duration) *float64 {
	if d < 0 {
		return nil
	}
	ms := float64(d.Microseconds()) / 1000
	return &ms
}
