package simulate

import (
	"fmt"
	"slices"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// Invariant is something that holds in every history, in both modes if not said otherwise.
type Invariant string

const (
	Kept Invariant = "no message is lost: each is deleted after a success, is dropped as configured, " +
		"is in a dead-letter queue as it was sent, or is still in its queue"
	DeletedOnlyWhenDone Invariant = "nothing is deleted without a success, a dead letter or a drop"
	Final               Invariant = "a success that was reported is not handled again"
	Ordered             Invariant = "messages of a FIFO group are handled in the order in which they were sent, never two at a time"
	Counted             Invariant = "attempts are those of the queue, and no more than it allows"
	Bounded             Invariant = "every visibility is one that SQS takes"
	Frugal              Invariant = "no more calls are made than are needed, none of them after the response or the stop"
	Drained             Invariant = "at the end nothing is stuck, and no goroutine is left"
	Once                Invariant = "a delivery is handled once at most, and the response, the hooks and the log agree on its outcome"
	Spaced              Invariant = "what failed comes back when its backoff is over"
	VisibilitySet       Invariant = "the visibility of each failure is set, if SQS answers"
	Together            Invariant = "what was not started comes back at once (but after an abort), what was skipped with the failure before it"
	Single              Invariant = "without faults and deaths a message becomes one dead letter"
	Explained           Invariant = "a dead letter that the toolkit sent says which message it was"
	Spared              Invariant = "no record of a FIFO group dies unhandled because of one before it that hangs, fails, panics or is malformed"
	Alone               Invariant = "a record's visibility is not shortened while a handler is at work on it, given up or not"
	WithinCapacity      Invariant = "no more is handled, or held, than the configuration allows"
	Limited             Invariant = "no handler is given more than its timeout"
	Heeded              Invariant = "after an abort nothing is started or received by the toolkit, and what was not started comes back when its time is over"
	Divided             Invariant = "where SQS refuses a call as a whole, each of its entries is tried again in a smaller one"

	// Of guarded functions:
	WorkKept  Invariant = "what was not worked on itself was as another delivery or message with the same key"
	WorkOnce  Invariant = "no key is completed twice, or worked on again after it was completed"
	WorkAlone Invariant = "while a key is claimed no other worker is let in, if handlers follow their context"
	Blameless Invariant = "a record that waits for another worker does not fail, and is no dead letter while it has time to wait"

	// Of Lambda alone:
	Punctual Invariant = "the response is there before the invocation's deadline"
	Prompt   Invariant = "the response does not wait when there is nothing to wait for"

	// Of the long-poll mode alone:
	Hidden Invariant = "while a message is handled, no other receiver is given it"
	Freed  Invariant = "after a stop everything that is not done can be received"
	Swift  Invariant = "a stop takes no longer than it may, and does not wait for nothing"
	Quiet  Invariant = "while a process is paused it starts nothing and holds nothing"
)

// Invariants are those of each mode.
var (
	Invariants     = append([]Invariant{Punctual, Prompt}, ofBoth...)
	PollInvariants = append([]Invariant{Hidden, Freed, Swift, Quiet}, ofBoth...)

	ofBoth = []Invariant{Kept, DeletedOnlyWhenDone, Final, Ordered, Counted, Bounded, Frugal, Drained, Once, Spaced, VisibilitySet, Together,
		Single, Explained, Spared, Alone, WithinCapacity, Limited, Heeded, Divided, WorkKept, WorkOnce, WorkAlone, Blameless}
)

// Violation is a moment of a history that breaks an invariant.
type Violation struct {
	Invariant Invariant
	At        time.Time
	Text      string
}

// Check returns what is wrong with a history, the first of each invariant first. It is for one
// call: it keeps what it finds in the history.
func Check(h *History) []Violation {
	c := h.checker()
	checks := []func(){
		c.deletions, c.losses, c.deadLetters, c.groups, c.attempts, c.bounds, c.end, c.handledOnce, c.single, c.explained, c.spared, c.alone, c.divided, c.keys,
	}
	if h.Plan.Polls() {
		checks = append(checks, c.handledTwice, c.receives, c.hurries, c.extensions, c.errs, c.pollOutcomes, c.pollSpacing, c.hidden, c.room,
			c.freed, c.swift, c.pauses, c.limits, c.pollTogether, c.pollAborts)
	} else {
		checks = append(checks, c.repetitions, c.responses, c.calls, c.outcomes, c.spacing, c.waits, c.together, c.deadlines, c.aborts)
	}
	for _, check := range checks {
		check()
	}
	slices.SortStableFunc(c.found, func(a, b Violation) int { return a.At.Compare(b.At) })
	return c.found
}

// checker is a history, indexed.
type checker struct {
	*History
	found      []Violation
	messages   map[string]*story // of source queues, by message id
	ordered    []*story          // in the order in which they were sent
	deliveries map[string]*delivery
	handlings  []*Handling          // of deliveries, in the order of their start
	delays     map[*Process][]delay // see delaysOf
}

// story is a message of a source queue.
type story struct {
	id       string
	plan     Message
	queue    Queue
	function Function
	sent     Event
	gone     Event // Deleted, Redriven or Expired

	// In their order:
	events     []Event
	deliveries []*delivery
	handlings  []*Handling
}

// delivery is one receive of a message, by its receipt handle.
type delivery struct {
	*story
	received   Event
	invocation *Invocation // nil: it was not invoked
	process    *Process    // nil: no process was given it
	got        Moment      // when it was
	handling   *Handling   // the first; nil: there was none
	handled    int         // how often it was
	outcome    *Outcome    // nil: the invocation did not get so far
	set        []entry     // its visibility, in order
}

// entry is an entry of a call that sets the visibility of a delivery.
type entry struct {
	at, ended Moment // of the call
	hidden    time.Duration
	ok        bool
}

// lastSet is when the last call to set the visibility of a delivery began.
func (d *delivery) lastSet() Moment {
	if len(d.set) == 0 {
		return Moment{}
	}
	return d.last().at
}

// last is the last one that sets the visibility of a delivery; nil if there is none.
func (d *delivery) last() *entry {
	if len(d.set) == 0 {
		return nil
	}
	return &d.set[len(d.set)-1]
}

// checker is the history's index, which is made once.
func (h *History) checker() *checker {
	if h.index == nil {
		h.index = newChecker(h)
	}
	return h.index
}

func newChecker(h *History) *checker {
	c := &checker{History: h, messages: map[string]*story{}, deliveries: map[string]*delivery{}}
	queues := map[string]Queue{}
	numbers := map[string]int{}
	for _, q := range h.Plan.Queues {
		queues[q.Name] = q
	}
	for _, m := range h.Plan.Messages {
		numbers[m.body()] = m.Number
	}
	for _, e := range h.Events {
		q, isSource := queues[e.Queue]
		if !isSource {
			continue
		}
		switch m := c.messages[e.MessageID]; e.Kind {
		case sqs.Sent:
			m = &story{id: e.MessageID, queue: q, function: h.Plan.Functions[q.Function], sent: e}
			m.plan = h.Plan.message(numbers[e.Body])
			c.messages[m.id] = m
			c.ordered = append(c.ordered, m)
		case sqs.Received:
			d := &delivery{story: m, received: e}
			c.deliveries[e.ReceiptHandle] = d
			m.deliveries = append(m.deliveries, d)
		case sqs.Deleted, sqs.Redriven, sqs.Expired:
			m.gone = e
		}
		c.messages[e.MessageID].events = append(c.messages[e.MessageID].events, e)
	}
	c.deliver()
	return c
}

// deliver finds what became of each delivery.
func (c *checker) deliver() {
	for _, i := range c.Invocations {
		for _, r := range i.Records {
			c.deliveries[r.ReceiptHandle].invocation = i
		}
	}
	for _, p := range c.Processes {
		for _, call := range p.Calls {
			for _, receipt := range call.Got {
				if d := c.deliveries[receipt]; d != nil {
					d.process, d.got = p, call.Ended
				}
			}
		}
	}
	for _, m := range c.ordered {
		for _, d := range m.deliveries {
			if p := d.process; p != nil {
				p.deliveries = append(p.deliveries, d)
			}
		}
	}
	for _, w := range c.works() {
		w.Results = slices.DeleteFunc(w.Results, func(o Outcome) bool {
			d := c.deliveries[o.Receipt]
			unknown := d == nil || d.id != o.MessageID
			if unknown {
				c.violated(Once, w.Began, "%s has the outcome of a delivery that did not happen", w.Queue)
			}
			return unknown
		})
		for k := range w.Results {
			o := &w.Results[k]
			o.delivery = c.deliveries[o.Receipt]
			o.delivery.outcome = o
		}
		for call, e := range w.visibilities() {
			if d := c.deliveries[e.Receipt]; d != nil {
				d.set = append(d.set, entry{call.Began, call.Ended, time.Duration(e.Seconds) * time.Second, e.OK})
			}
		}
	}
	for _, h := range c.Handlings {
		d := c.deliveries[h.Receipt]
		if d == nil || d.id != h.MessageID {
			c.violated(Counted, h.Started, "message %d is handled by a receipt handle that the queue did not give", h.Number)
			continue
		}
		if h.delivery = d; d.handling == nil {
			d.handling = h
		}
		d.handled++
		d.story.handlings = append(d.story.handlings, h)
		c.handlings = append(c.handlings, h)
		h.work().handlings = append(h.work().handlings, h)
	}
}

func (c *checker) violated(i Invariant, at Moment, format string, args ...any) {
	c.found = append(c.found, Violation{i, at.At, fmt.Sprintf(format, args...)})
}

// inGroup are the handlings of a delivery's FIFO group by its process or invocation.
func (d *delivery) inGroup() (list []*Handling) {
	var by *Work
	switch {
	case !d.queue.FIFO():
		return nil
	case d.process != nil:
		by = &d.process.Work
	case d.invocation != nil:
		by = &d.invocation.Work
	default:
		return nil
	}
	for _, h := range by.handlings {
		if h.delivery.sent.MessageGroupID == d.sent.MessageGroupID {
			list = append(list, h)
		}
	}
	return list
}

func (m *story) String() string { return fmt.Sprintf("message %d", m.plan.Number) }

// ended reports whether a handler of the delivery ended in a way before a moment.
func (d *delivery) ended(as func(End) bool, before Moment) bool {
	return slices.ContainsFunc(d.story.handlings, func(h *Handling) bool { return h.delivery == d && as(h.End) && h.Ended.Before(before) })
}

// ended reports whether a handler of the message ended in a way before a moment.
func (m *story) ended(as func(End) bool, before Moment) bool {
	return slices.ContainsFunc(m.handlings, func(h *Handling) bool { return as(h.End) && h.Ended.Before(before) })
}
