package simulate

import (
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/lambda"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// History is what happened while a plan was carried out.
type History struct {
	Plan  Plan
	Began time.Time
	// Events are those of SQS, in the order in which they took effect.
	Events []Event
	// Handlings are the calls of the user's handler, in the order of their start.
	Handlings []*Handling
	// Tasks are the calls of guarded functions: those of Handlings that were let in.
	Tasks []*Task
	// StoreCalls are those to the idempotency store, in the order of their start.
	StoreCalls []*StoreCall
	// Invocations of the functions, in the order of their start.
	Invocations []*Invocation
	// Processes that polled, in the order of their start.
	Processes []*Process
	// Dead are the messages found in the dead-letter queues at the end.
	Dead []DeadMessage
	// Struck counts the faults, breaks and kills that struck, by kind and operation.
	Struck map[string]int
	// Blocked are the receipt handles of records about which a hook blocked.
	Blocked map[string]bool
	// Stuck tells that the queues were not empty long after everything healed.
	Stuck bool
	// Healed is when it did; zero if all was done before.
	Healed Moment
	// Panicked holds what Invoke panicked with.
	Panicked []string
	// Leaked is what synctest said of goroutines that were left.
	Leaked string
}

// Moment is a point in a history: of two at the same time, Seq tells the first.
type Moment struct {
	At  time.Time
	Seq int // from 1; 0: it never came
}

// Came reports whether the moment came at all.
func (m Moment) Came() bool { return m.Seq > 0 }

// Before reports whether m came before n. What never came is after everything.
func (m Moment) Before(n Moment) bool {
	return m.Came() && (!n.Came() || m.Seq < n.Seq)
}

// Event is an event of SQS.
type Event struct {
	sqs.Event
	Moment
}

// Handling is one call of the user's handler.
type Handling struct {
	Invocation *Invocation
	Process    *Process // in the long-poll mode, instead of an invocation
	Number     int      // of the message in the plan
	MessageID  string
	Receipt    string
	Queue      string // name
	Group      string
	Attempt    int
	Allowed    time.Time // the context's deadline
	Started    Moment
	Canceled   Moment // when its context ended, before it did; in the long-poll mode
	Ended      Moment
	End        End
	Err        error
	// Told: a function of many did what there was to do before, together with an
	// earlier record of the group; the call was only told the outcome.
	Told bool
	// TakenOver: its guard ended its function's context, since the claim could not be renewed.
	TakenOver bool
}

// End is how a handler ended.
type End string

const (
	Succeeded End = "succeeded"
	Failed    End = "failed"
	ForGood   End = "failed for good" // permanent or malformed
	Panicked  End = "panicked"
	Exited    End = "goexit"
	Ended     End = "expired"
	// Of guarded functions:
	Repeated End = "a duplicate"
	Waited   End = "in progress"
)

// done reports whether nothing is left to do with the record.
func (e End) done() bool { return e == Succeeded || e == Repeated || e == Ended }

// Invocation is one invocation of a function.
type Invocation struct {
	Number      int
	ID          string
	Function    int
	Queue       string
	Environment int // of the simulator's, which die and are replaced
	Records     []lambda.Record
	Began       Moment
	Deadline    time.Time
	// Answered is when the toolkit returned its response or error; it may never
	// have arrived.
	Answered Moment
	Response []byte
	Err      error
	// Killed is when its environment died.
	Killed Moment
	How    KillKind
	// Ended is when the event source mapping was done with it.
	Ended  Moment
	Result lambda.Ended

	// What the toolkit told its hooks and its log.
	Batch  batch.BatchInfo
	Logged map[string]int64
	Work
}

// Work is what the toolkit did in an invocation, or in a process that polls.
type Work struct {
	Results  []Outcome
	Finished map[string]int // calls of the RecordFinished hook, by receipt handle
	Calls    []*Call
}

// Outcome is what the toolkit says happened to a record.
type Outcome struct {
	MessageID     string
	Receipt       string
	Attempt       int
	Outcome       batch.Outcome
	FailedAt      time.Time
	VisibleIn     time.Duration
	VisibilitySet bool
	DeadLetters   string
	Lost          bool // longpoll.ErrLost: its handler was not called
	Aborted       bool // batch.ErrAborted: it was not started for that
}

// Call is one call that a function made to SQS.
type Call struct {
	Operation string
	Queue     string
	Entries   []Entry
	Began     Moment
	Ended     Moment
	Err       string // "" when it was answered with success
	GivenUp   bool   // the toolkit ended it, by its context
	Broken    BreakKind

	// Of ReceiveMessage: what was asked for, and the receipt handles that the
	// answer had.
	Wait time.Duration
	Most int
	Got  []string
}

// Entry is one entry of a batch call.
type Entry struct {
	id      string
	Receipt string
	Seconds int
	Body    string
	OK      bool
	Code    string // of its failure
}

// DeadMessage is a message as it was received from a dead-letter queue.
type DeadMessage struct {
	Queue      string
	Body       string
	Attributes map[string]string // the sender's: type and value
	Origin     string            // the message that it was, as the toolkit's attribute says; empty if there is none
	Group      string
	Trace      string // AWSTraceHeader
}

// arrived reports whether the function's response was a success and reached Lambda.
func (i *Invocation) arrived() bool { return i.Ended.Came() && i.Result.Result.Error == nil }
