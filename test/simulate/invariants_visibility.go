package simulate

import (
	"cmp"
	"slices"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// receivedLast is when a delivery was received: a FIFO queue gives it anew to a receive
// that is tried again (ReceiveRequestAttemptId).
func (c *checker) receivedLast(d *delivery) time.Time {
	at := d.received.At
	for _, e := range c.Events {
		if e.Kind == sqs.Visibility && e.ReceiptHandle == d.received.ReceiptHandle && e.Before(d.got) {
			at = e.At
		}
	}
	return at
}

// maxVisibility is SQS's limit, of one timeout and of all since the receive.
const maxVisibility = 43_200 * time.Second

// bounds: Bounded.
func (c *checker) bounds() {
	for _, calls := range c.allCalls() {
		for _, call := range calls {
			if call.Operation != "ChangeMessageVisibilityBatch" {
				continue
			}
			at := call.Began
			if call.Ended.Came() && call.Err == "" {
				at = call.Ended // it took effect after Began, and nothing in between was too late
			}
			for _, e := range call.Entries {
				d := c.deliveries[e.Receipt]
				if d == nil {
					c.violated(Bounded, at, "visibility of a receipt handle that the queue did not give")
					continue
				}
				timeout := time.Duration(e.Seconds) * time.Second
				total := at.At.Add(timeout).Sub(c.receivedLast(d))
				if timeout < 0 || timeout > maxVisibility || total > maxVisibility {
					c.violated(Bounded, at, "%v was to be hidden for %d s, %v after its receipt", d.story, e.Seconds, total)
				}
			}
		}
	}
}

// allCalls are the calls of every invocation and process.
func (c *checker) allCalls() (list [][]*Call) {
	for _, i := range c.Invocations {
		list = append(list, i.Calls)
	}
	for _, p := range c.Processes {
		list = append(list, p.Calls)
	}
	return list
}

// spacing: Spaced and VisibilitySet.
func (c *checker) spacing() {
	received := map[string][]Event{} // by message
	for _, e := range c.Events {
		if e.Kind == sqs.Received && c.messages[e.MessageID] != nil {
			received[e.MessageID] = append(received[e.MessageID], e)
		}
	}
	for _, i := range c.Invocations {
		if i.Killed.Came() {
			continue
		}
		set := i.visibilitySet()
		for _, o := range i.Results {
			d := c.deliveries[o.Receipt]
			if d == nil || o.Outcome.Done() {
				continue
			}
			at := set[o.Receipt]
			if o.VisibilitySet && !at.set {
				c.violated(VisibilitySet, i.Answered, "%v: the toolkit says that its visibility was set, SQS never did", d.story)
			}
			if !at.set && !i.abandoned(o) && cleanBut(i.Calls, o.Receipt) && i.Answered.At.Before(c.settleBy(i)) {
				c.violated(VisibilitySet, i.Answered, "%v is %v, and its visibility was not set, though no call failed", d.story, o.Outcome)
			}
			if at.set && o.VisibilitySet && (o.Outcome == batch.Retry || o.Outcome == batch.InProgress || o.Outcome == batch.Abandoned) && !c.shown(d, i.Answered) && !i.heldTwice(o.MessageID) {
				c.spaced(d, o, at, received[o.MessageID])
			}
		}
	}
}

// spaced looks at a failure whose visibility was set.
func (c *checker) spaced(d *delivery, o Outcome, at appearance, received []Event) {
	i := d.invocation
	due := o.FailedAt.Add(o.VisibleIn)
	if at.hidden && !at.appears.Before(due.Add(time.Second)) {
		c.violated(Spaced, i.Answered, "%v failed and is due after %v, but appears %v after its failure", d.story, o.VisibleIn, at.appears.Sub(o.FailedAt))
	}
	for _, e := range received {
		if d.received.Before(e.Moment) && e.At.After(o.FailedAt) && e.At.Before(due) {
			c.violated(Spaced, e.Moment, "%v failed and is due after %v, but is received %v after its failure", d.story, o.VisibleIn, e.At.Sub(o.FailedAt))
		}
	}
	c.backsOff(d, o, i.Answered)
}

// backsOff looks at the time after which a failure is to come back, in both modes.
func (c *checker) backsOff(d *delivery, o Outcome, at Moment) {
	if least := c.leastBackoff(d, o); o.VisibleIn < least {
		c.violated(Spaced, at, "%v failed and comes back after %v, its backoff is %v at least", d.story, o.VisibleIn, least)
	}
	if asked, exactly := d.asksFor(o); exactly && o.VisibleIn >= asked+time.Second {
		c.violated(Spaced, at, "%v failed and comes back after %v, it asked for %v", d.story, o.VisibleIn, asked)
	}
}

// leastBackoff is the least time after which a failure comes back.
func (c *checker) leastBackoff(d *delivery, o Outcome) time.Duration {
	want := time.Second
	asked, exactly := d.asksFor(o)
	switch b := backoff(d.function.Backoff, c.Plan.Seed); {
	case exactly:
		want = asked
	case d.function.Backoff == "outage":
		want = max(asked, c.leastOfOutage(d, o))
	case b != nil && d.function.Backoff != "panics":
		want = max(want, asked, b(o.Attempt))
	default:
		want = max(want, asked)
	}
	return min(want, 11*time.Hour) // what is longer is cut to what SQS takes
}

// leastOfOutage is the least time after which a failure comes back that is to
// outlive an outage: before the last attempt, what is left of it since the first.
func (c *checker) leastOfOutage(d *delivery, o Outcome) time.Duration {
	outage := cmp.Or(d.function.Outage, partialfailure.Config{}.WithDefaults().Outage)
	most := cmp.Or(d.function.MaxReceiveCount, d.queue.MaxReceive)
	switch {
	case most == 1:
		return 0
	case d.function.MaxReceiveCount == 0 && !c.says(d):
		return time.Second
	case most > 1 && o.Attempt == most-1:
		return outage - o.FailedAt.Sub(c.firstReceived(d)) - time.Second
	case most > 1:
		return max(time.Second, min(2*time.Second, outage/time.Duration(most-1)))
	}
	return min(2*time.Second, outage)
}

// says reports whether a delivery's queue can be asked for its attributes: no call for
// them was refused, or took long.
func (c *checker) says(d *delivery) bool {
	if d.function.SlowHook != "" || d.function.PerEnvironment > 1 {
		return false
	}
	for _, calls := range c.allCalls() {
		for _, call := range calls {
			if call.Operation == "GetQueueAttributes" && (!call.clean() || call.Ended.At.Sub(call.Began.At) > 100*time.Millisecond) {
				return false
			}
		}
	}
	return true
}

// firstReceived is when a message was received for the first time.
func (c *checker) firstReceived(d *delivery) time.Time {
	first := d.received.At
	for _, other := range c.deliveries {
		if other.story == d.story && other.received.At.Before(first) {
			first = other.received.At
		}
	}
	return first
}

// asksFor is the time for which a handler has asked until its record comes back: that
// time exactly, or by an abort that time at least. With none asked for it is 0.
func (d *delivery) asksFor(o Outcome) (after time.Duration, exactly bool) {
	if o.Outcome != batch.Retry && o.Outcome != batch.InProgress || len(d.handlings) == 0 {
		return 0, false
	}
	v := batch.VerdictOf(d.handlings[0].Err)
	return v.After, v.HasAfter && (!v.Aborts || v.After == 0)
}

// abandoned reports whether an outcome is that of a record whose handler was given up,
// or of one that was skipped for it: no visibility is set then, unless it is longer.
func (i *Invocation) abandoned(o Outcome) bool {
	if o.Outcome != batch.Skipped {
		return o.Outcome == batch.Abandoned
	}
	return slices.ContainsFunc(i.Results, func(before Outcome) bool { return before.Outcome == batch.Abandoned })
}

// appearance is what the toolkit wanted when it set a record's visibility.
type appearance struct {
	appears time.Time
	hidden  bool // not shown at once
	set     bool // SQS confirmed it before the response
}

// visibilitySet returns what was asked for, by receipt handle. A time counts
// from the first try: the SDK repeats a call that fails as it is.
func (i *Invocation) visibilitySet() map[string]appearance {
	type request struct {
		receipt string
		seconds int
	}
	first := map[request]time.Time{}
	set := map[string]appearance{}
	for _, call := range i.Calls {
		if call.Operation != "ChangeMessageVisibilityBatch" {
			continue
		}
		for _, e := range call.Entries {
			r := request{e.Receipt, e.Seconds}
			if _, again := first[r]; !again {
				first[r] = call.Began.At
			}
			if e.OK && call.Ended.Before(i.Answered) {
				set[e.Receipt] = appearance{first[r].Add(time.Duration(e.Seconds) * time.Second), e.Seconds > 0, true}
			}
		}
	}
	return set
}

// clean reports whether every call of the invocation was answered well.
func (i *Invocation) clean() bool {
	return !slices.ContainsFunc(i.Calls, func(c *Call) bool { return !c.clean() })
}

func (c *Call) clean() bool {
	return c.Ended.Came() && c.Err == "" && !slices.ContainsFunc(c.Entries, func(e Entry) bool { return !e.OK })
}

// waits: Prompt.
func (c *checker) waits() {
	for _, i := range c.Invocations {
		f := c.Plan.Functions[i.Function]
		// Invocations of one environment wait for each other's question about the queue.
		if i.Killed.Came() || !i.Answered.Came() || !i.clean() || f.SlowHook != "" || f.PerEnvironment > 1 {
			continue
		}
		last, running := i.Began.At, false
		latest := func(t time.Time) {
			if t.After(last) {
				last = t
			}
		}
		for _, call := range i.Calls {
			latest(call.Ended.At)
		}
		for _, h := range c.Handlings {
			if h.Invocation == i {
				running = running || !h.Ended.Before(i.Answered)
				latest(h.Ended.At)
			}
		}
		if !running && i.Answered.At.After(last) {
			c.violated(Prompt, i.Answered, "invocation %d answers %v after its last handler and its last call were over", i.Number, i.Answered.At.Sub(last))
		}
	}
}
