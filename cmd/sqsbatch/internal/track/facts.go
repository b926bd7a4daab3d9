package track

import "time"

// Outcomes of a record, as sqsbatch names them. Lost is this tool's own.
const (
	Succeeded  = "succeeded"
	Retry      = "retry"
	DeadLetter = "dead-letter"
	Dropped    = "dropped"
	NotStarted = "not-started"
	Skipped    = "skipped"
	Abandoned  = "abandoned"
	// Lost: the function said that the record failed, and Lambda deleted it
	// all the same, because the event lacks ReportBatchItemFailures.
	Lost = "lost"
	// CutOff: the process that held the record ended before it was handled, or
	// before that was logged.
	CutOff = "cut-off"
	// Filtered: the message matches none of the event's filters, and Lambda
	// deleted it without an invocation.
	Filtered = "filtered"
)

// A Fact is something to show: a [Started], [Record], [Ended], [Moved],
// [Process], [Log] or [Warning].
type Fact any

// Started: an invocation begins.
type Started struct {
	Invocation int // counted from 1
	RequestID  string
	Bodies     []string // of its records
	ColdStart  bool
}

// Record is what became of one record in one invocation.
//
// With a function that uses sqsbatch it comes twice: as soon as the function
// logs it, and with Final set once the invocation is over. Repeats says that
// the final one adds nothing to what was said before.
type Record struct {
	Invocation int // 0 when what became of the message needed none
	Process    int // of containers, counted from 1; 0 when none is known
	RequestID  string
	MessageID  string
	Body       string
	Attempt    int
	Outcome    string
	Reason     string // "" when there is none
	// Shared says that Reason is that of the whole invocation.
	Shared bool
	// Duration is how long the handler took and Allowed how long it might have;
	// both are negative when not known, as with a function without sqsbatch.
	Duration, Allowed time.Duration
	// Age is how long ago the message had been sent when this was known;
	// negative when it is not known.
	Age time.Duration
	// VisibleIn is after how long the record comes back; negative when it does
	// not, or when that is not known.
	VisibleIn time.Duration
	// DeadLetterQueue is the name of the queue that the record went to.
	DeadLetterQueue string
	Final, Repeats  bool
}

// Done says whether the record is gone from its queue.
func (r Record) Done() bool {
	switch r.Outcome {
	case Succeeded, DeadLetter, Dropped, Lost, Filtered:
		return true
	}
	return false
}

// Ended: an invocation is over and each of its records has its final outcome.
type Ended struct {
	Invocation     int
	RequestID      string
	Records        int
	Deleted, Back  int // how many left the queue, how many come back
	Duration       time.Duration
	ColdStart      bool
	Init           time.Duration // of a cold start
	Error          string        // the function's error, "" when it answered
	WholeBatchFail string        // why every record counts as failed although it answered
}

// Moved: a message move task took a message from one queue to another, where it
// counts as a new one. One of the two is the source queue.
type Moved struct {
	MessageID, NewMessageID string
	Body                    string
	From, To                string // names of queues
}

// Process says that a long-polling process has started or ended.
type Process struct {
	Number int // counted from 1; the one that follows a crash has the same
	PID    int
	// Ended says how it ended, as in "exit status 1"; "" while it runs.
	Ended string
	// Asked says that it was told to end.
	Asked bool
	// CutOff counts the records that it may have held when it ended; -1 when
	// other processes may hold them.
	CutOff int
	// Again is after how long it is started again; 0 when it is not.
	Again time.Duration
}

// Log is one line of the function's own output.
type Log struct {
	Invocation int // 0 outside invocations
	Process    int // of containers, counted from 1
	Stream     string
	Text       string
}

// Warning is something that the toolkit, or this tool, warns of.
type Warning struct {
	Text    string
	Serious bool // somebody should look now
	// MessageID and Body are those of the message that it is about, "" when it
	// is about none in particular.
	MessageID, Body string
}

// Progress is the state of the run at one moment. Every message sent is in
// exactly one of Succeeded, DeadLettered, Dropped, Lost, Filtered, Moved, Removed,
// InFlight and Waiting.
type Progress struct {
	Sent         int
	Succeeded    int
	DeadLettered int
	Dropped      int
	Lost         int
	Filtered     int
	// Moved were taken to another queue by a message move task. A dead letter
	// that such a task brings back is not among them: it is in the queue again.
	Moved int
	// Removed were deleted by another receiver, purged, or reached the end of
	// their retention.
	Removed int
	// InFlight are in an invocation now.
	InFlight int
	// Waiting are in the queue, to be received at once or later.
	Waiting int
	// Retried counts how often a record came back to its queue.
	Retried     int
	Invocations int
	// HandledAgain counts how often a record was handled that had been before:
	// its deletion had failed. Starts counts the processes that were started,
	// Crashes those that ended without having been told to. Of containers.
	HandledAgain, Starts, Crashes int
	// Next is the body of the message that becomes visible first, when none is
	// visible now, and NextIn how long that takes.
	Next   string
	NextIn time.Duration
}

// Dead is a message that went to the dead-letter queue.
type Dead struct {
	MessageID, Body, Reason string
	Attempt                 int
}
