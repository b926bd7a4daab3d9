package track

import (
	"bytes"
	"encoding/json"
	"time"
)

// Outcomes of a record, in the toolkit's words. Lost, CutOff and Filtered are this tool's.
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
	// Lost is a record that failed and that Lambda deleted, because the event has no
	// ReportBatchItemFailures.
	Lost = "lost"
	// CutOff is a record whose process ended before the record was handled or logged.
	CutOff = "cut-off"
	// Filtered is a message that Lambda deleted because it matches none of the event's filters.
	Filtered = "filtered"
)

// An Event is a [Started], [Record], [Ended], [Process], [Log] or [Warning], or the
// [sqs.Event] of a message that a message move task moved. docs/emulators.md lists the
// fields in JSON.
type Event any

// Started is the start of an invocation.
type Started struct {
	Invocation int // counted from 1
	RequestID  string
	MessageIDs []string // of the records
	Bodies     []string // bodies of the records
	ColdStart  bool
}

// Record is the outcome of one record in one invocation.
//
// For a function that uses sqsbatch, each record has two such events: one when the function
// logs the record, and one with Final set after the invocation. Repeats is true if the
// final one is equal to the first.
type Record struct {
	Invocation int    `json:"invocation"`        // counted from 1; 0 without an invocation
	Process    int    `json:"process,omitempty"` // containers: counted from 1; 0 if unknown
	RequestID  string `json:"requestId"`
	MessageID  string `json:"messageId"`
	Body       string `json:"body"`
	Attempt    int    `json:"attempt"`
	Outcome    string `json:"outcome"`
	Reason     string `json:"reason"` // "" if there is none
	// PanickedAt is the line of the function that panicked, as in "orders/main.go:31".
	PanickedAt string `json:"panickedAt,omitempty"`
	// Shared is true if Reason is the error of the whole invocation.
	Shared bool `json:"-"`
	// Duration is the handler's duration, and Allowed its limit. Both are negative if unknown,
	// as for a function without sqsbatch.
	Duration time.Duration `json:"-"`
	Allowed  time.Duration `json:"-"`
	// Age is the time since the message was sent; negative if unknown.
	Age time.Duration `json:"-"`
	// VisibleIn is the time until the record comes back; negative if it does not come back, or
	// if the time is unknown.
	VisibleIn time.Duration `json:"-"`
	// DeadLetterQueue is the name of the dead-letter queue to which the record was moved.
	DeadLetterQueue string `json:"deadLetterQueue,omitempty"`
	// LastAttempt is true if SQS dead-letters the record instead of delivering it again, because
	// of maxReceiveCount.
	LastAttempt bool `json:"-"`
	Final       bool `json:"-"`
	Repeats     bool `json:"-"`
}

// A recordLine is a Record in JSON.
type recordLine struct {
	Type string `json:"type"` // "record"
	recordFields
	Duration  *float64 `json:"durationMs"` // null if unknown
	Allowed   *float64 `json:"allowedMs"`
	VisibleIn *float64 `json:"visibleInMs"` // null if the record does not come back
}

type recordFields Record // without its methods

// MarshalJSON writes a line of type "record".
func (r Record) MarshalJSON() ([]byte, error) {
	return marshal(recordLine{"record", recordFields(r), known(r.Duration), known(r.Allowed), known(r.VisibleIn)})
}

// UnmarshalJSON reads such a line. Durations that it does not have are negative.
func (r *Record) UnmarshalJSON(line []byte) error {
	var read recordLine
	err := json.Unmarshal(line, &read)
	*r = Record(read.recordFields)
	r.Duration, r.Allowed, r.VisibleIn, r.Age = duration(read.Duration), duration(read.Allowed), duration(read.VisibleIn), -1
	return err
}

// Done reports whether the record has left its queue.
func (r Record) Done() bool {
	switch r.Outcome {
	case Succeeded, Duplicate, Expired, DeadLetter, Dropped, Lost, Filtered:
		return true
	}
	return false
}

// Ended is the end of an invocation, after the final outcomes of its records.
type Ended struct {
	Invocation int           `json:"invocation"`
	RequestID  string        `json:"requestId"`
	Records    int           `json:"records"`
	Deleted    int           `json:"deleted"` // number of records that left the queue
	Back       int           `json:"back"`    // number of records that come back
	Duration   time.Duration `json:"-"`
	Timeout    time.Duration `json:"-"`
	ColdStart  bool          `json:"coldStart"`
	Init       time.Duration `json:"-"`                   // duration of a cold start's boot
	Error      string        `json:"error,omitempty"`     // the function's error, "" if it answered
	AllFailed  string        `json:"allFailed,omitempty"` // the reason for which all records count as failed, though the function answered
}

// An endedLine is an Ended in JSON.
type endedLine struct {
	Type string `json:"type"` // "invocation"
	endedFields
	Duration *float64 `json:"durationMs"`
	Timeout  *float64 `json:"timeoutMs"`
	Init     *float64 `json:"initMs,omitempty"`
}

type endedFields Ended // without its methods

// MarshalJSON writes a line of type "invocation".
func (e Ended) MarshalJSON() ([]byte, error) {
	line := endedLine{"invocation", endedFields(e), known(e.Duration), known(e.Timeout), nil}
	if e.ColdStart {
		line.Init = known(e.Init)
	}
	return marshal(line)
}

// UnmarshalJSON reads such a line. Durations that it does not have are negative.
func (e *Ended) UnmarshalJSON(line []byte) error {
	var read endedLine
	err := json.Unmarshal(line, &read)
	*e = Ended(read.endedFields)
	e.Duration, e.Timeout, e.Init = duration(read.Duration), duration(read.Timeout), duration(read.Init)
	return err
}

// Change is the start or end of a process.
type Change struct {
	Process int `json:"process"` // counted from 1; a replacement has the same number
	PID     int `json:"pid"`
	// Ended is the exit status, as in "exit status 1"; "" for a start.
	Ended string `json:"ended,omitempty"`
	// Asked is true if `sqsbatch local` stopped the process.
	Asked bool `json:"asked,omitempty"`
	// Again is the time until the next start; 0 if there is none.
	Again time.Duration `json:"-"`
}

// Process is the start or end of a process that polls.
type Process struct {
	Change
	// CutOff is the number of records that the process held at its end; -1 if unknown, because
	// other processes run.
	CutOff int `json:"cutOff,omitempty"`
}

// MarshalJSON writes a line of type "process".
func (p Process) MarshalJSON() ([]byte, error) {
	type fields Process // without this method
	line := struct {
		Type string `json:"type"`
		fields
		Again *float64 `json:"againInMs,omitempty"` // absent if there is no next start
	}{"process", fields(p), nil}
	if p.Again > 0 {
		line.Again = known(p.Again)
	}
	return marshal(line)
}

// Log is one line of the function's own output.
type Log struct {
	Invocation int // 0 outside invocations
	Process    int // containers: counted from 1
	Stream     string
	Text       string
}

// Warning is a warning of the toolkit or of this tool.
type Warning struct {
	Text    string
	Serious bool // logged as an error
	// MessageID and Body are the message's, "" if the warning is not about a message.
	MessageID, Body string
}

// Progress is the state of the run. Each message is in exactly one of the counts from
// Succeeded to Waiting.
type Progress struct {
	Sent         int `json:"sent"`
	Succeeded    int `json:"succeeded"`
	Duplicates   int `json:"duplicates,omitempty"`
	Expired      int `json:"expired,omitempty"`
	DeadLettered int `json:"deadLettered"`
	Dropped      int `json:"dropped"`
	Lost         int `json:"lost"`
	Filtered     int `json:"filtered"`
	// Moved counts messages that a message move task moved to another queue. It does not count
	// dead letters that come back: they are in the queue again.
	Moved int `json:"moved"`
	// Removed counts messages that were deleted by another receiver, purged, or expired.
	Removed int `json:"removed"`
	// InFlight counts messages that were received and are not visible again.
	InFlight int `json:"-"`
	// Waiting counts the other messages in the queue, visible now or later.
	Waiting int `json:"-"`
	// Retried counts records that came back to their queue, once for each time.
	Retried     int `json:"retried"`
	Invocations int `json:"invocations"`
	// HandledAgain counts records that were handled again because their deletion had failed.
	// Starts and Crashes count starts of processes and ends that were not stops. All are 0
	// without containers.
	HandledAgain int `json:"handledAgain,omitempty"`
	Starts       int `json:"starts,omitempty"`
	Crashes      int `json:"crashes,omitempty"`
	// Next is the body of the next message to become visible, "" if one is visible, and NextIn
	// the time until then.
	Next   string        `json:"-"`
	NextIn time.Duration `json:"-"`
}

// Dead is a message in the dead-letter queue.
type Dead struct {
	MessageID, Body, Reason string
	Attempt                 int
}

// marshal returns v as JSON without HTML escaping.
func marshal(v any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return text.Bytes(), err
}

// known returns d in milliseconds, nil for a negative d.
func known(d time.Duration) *float64 {
	if d < 0 {
		return nil
	}
	ms := milliseconds(d)
	return &ms
}
