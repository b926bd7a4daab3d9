package simulate

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/lambda"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
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
	// Turns are the choices between those who could have had the next turn, see turns.go.
	Turns []byte
	// Leaked is what synctest said of goroutines that were left.
	Leaked string

	index *checker
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

// earliest is the first of some moments that came.
func earliest(moments ...Moment) (first Moment) {
	for _, m := range moments {
		if m.Before(first) {
			first = m
		}
	}
	return first
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
	// Behind: it was done together with a record before it in its FIFO group. Its own deadline is not
	// known, and Allowed is when it ended.
	Behind bool

	delivery *delivery // of the checker
}

// work is what its invocation or process did.
func (h *Handling) work() *Work {
	if h.Process != nil {
		return &h.Process.Work
	}
	return &h.Invocation.Work
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

func (e End) forGood() bool { return e == ForGood }

// Invocation is one invocation of a function.
type Invocation struct {
	Work
	ID          string
	Function    int
	Environment int // of the simulator's, which die and are replaced
	Records     []lambda.Record
	Deadline    time.Time
	// Answered is when the toolkit returned its response or error, which may never have arrived.
	Answered Moment
	Response []byte
	How      Ending // of its environment
	// Ended is when the event source mapping was done with it.
	Ended  Moment
	Result lambda.Ended
}

// Work is what the toolkit did in an invocation, or in a process that polls.
type Work struct {
	Number   int
	Queue    string
	Began    Moment
	Killed   Moment // when its environment or process died
	Err      error  // of Invoke or Run
	Results  []Outcome
	Finished map[string]int   // calls of the RecordFinished hook, by receipt handle
	Logged   map[string]int64 // counts in the log's line about an invocation
	Calls    []*Call

	// Of the checker:
	handlings  []*Handling // in their order
	deliveries []*delivery // of a process
}

// works are those of all invocations and processes.
func (h *History) works() (list []*Work) {
	for _, i := range h.Invocations {
		list = append(list, &i.Work)
	}
	for _, p := range h.Processes {
		list = append(list, &p.Work)
	}
	return list
}

// clean reports whether every call was answered well.
func (w *Work) clean() bool {
	return !slices.ContainsFunc(w.Calls, func(c *Call) bool { return !c.clean() })
}

// visibilities are the entries of calls that set a visibility, each with its call.
func (w *Work) visibilities() iter.Seq2[*Call, Entry] {
	return func(yield func(*Call, Entry) bool) {
		for _, call := range w.Calls {
			for _, e := range call.Entries {
				if call.Operation == "ChangeMessageVisibilityBatch" && !yield(call, e) {
					return
				}
			}
		}
	}
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
	Settled       Moment

	delivery *delivery // of the checker
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

	// Of ReceiveMessage: what was asked for, and the receipt handles in the answer.
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

// Process is one run of a poller.
type Process struct {
	Work
	Replica int
	Limits  Limits
	// Stopping is when it was asked to stop, How in which way, and Patience how long it may take.
	Stopping Moment
	How      Ending
	Patience time.Duration
	Returned Moment // Run
	Paused   []*Paused
}

// Limits are what a process is configured to keep, defaults included.
type Limits struct {
	Concurrency, Prefetch                  int
	Wait, RecordTimeout, Grace, DrainLimit time.Duration
	EndGrace                               time.Duration // the grace at the end of the visibility, without heartbeats
}

// Paused is a time in which a process was paused.
type Paused struct{ From, Until Moment }

// limits says in the words of the documentation what the configuration means.
func (p *Process) limits(cfg longpoll.Config, q Queue) {
	l := Limits{
		Concurrency: cfg.Engine.Concurrency, Prefetch: cfg.Prefetch,
		Wait: cmp.Or(cfg.Wait, 20*time.Second), Grace: cmp.Or(cfg.Engine.Grace, time.Second), DrainLimit: cfg.DrainLimit,
		RecordTimeout: cfg.Engine.RecordTimeout,
	}
	l.DrainLimit = cmp.Or(l.DrainLimit, max(time.Second, 25*time.Second-l.Grace))
	l.Concurrency = cmp.Or(l.Concurrency, 10)
	switch l.Prefetch {
	case 0:
		if l.Prefetch = max(l.Concurrency, 10); !q.FIFO() {
			l.Prefetch = max(l.Prefetch, min(4*l.Concurrency, 320))
		}
	case -1:
		l.Prefetch = 0
	}
	l.EndGrace, l.RecordTimeout = l.Grace, cmp.Or(l.RecordTimeout, 15*time.Minute)
	p.Limits = l
}

// answers reports whether the invocation lived until it answered.
func (i *Invocation) answers() bool { return !i.Killed.Came() && i.Answered.Came() }

// gone is when the process was no more.
func (p *Process) gone() Moment { return earliest(p.Killed, p.Returned) }

// slow is how long a call may take that counts as answered well.
const slow = 300 * time.Millisecond

// clean reports whether every call of some operations was answered well and soon.
func (p *Process) clean(operations ...string) bool {
	return !slices.ContainsFunc(p.Calls, func(c *Call) bool {
		switch {
		case len(operations) > 0 && !slices.Contains(operations, c.Operation), c.Operation == "ReceiveMessage" && p.gaveUp(c):
			return false
		case c.Operation == "ReceiveMessage":
			return !c.clean()
		}
		return !c.clean() || c.Ended.At.Sub(c.Began.At) > slow
	})
}

// gaveUp reports whether the process did not wait for a receive any more.
func (p *Process) gaveUp(c *Call) bool {
	return c.GivenUp || !c.Ended.Came() && p.Returned.Came() && !p.Killed.Came()
}

// overIn is when a handling ended for all that its process knows, at the
// earliest: it returned, or its context ended and it was given up after its grace.
func (h *Handling) overIn() Moment { return h.overAfter(h.Process.Limits.EndGrace) }

func (h *Handling) overAfter(grace time.Duration) Moment {
	first := h.Ended
	if h.Canceled.Came() {
		if given := h.Canceled.At.Add(grace); !h.Ended.Came() || given.Before(h.Ended.At) {
			first = Moment{At: given, Seq: h.Canceled.Seq}
		}
	}
	if gone := h.Process.gone(); !first.Came() || gone.Came() && gone.At.Before(first.At) {
		first = gone
	}
	return first
}

// fails reports whether its process may count a handling as a failure: it failed, or may have been given up.
func (h *Handling) fails() bool {
	return !h.End.done() || h.Canceled.Came() && !h.Ended.At.Before(h.overIn().At)
}
