package simulate

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/settle"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// receivedLast is when a delivery was received: a FIFO queue gives it anew to a receive
// that is tried again (ReceiveRequestAttemptId).
func (c *checker) receivedLast(d *delivery) time.Time {
	at := d.received.At
	for _, e := range d.story.events {
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
	for _, w := range c.works() {
		for call, e := range w.visibilities() {
			at := call.Began
			if call.Ended.Came() && call.Err == "" {
				at = call.Ended // it took effect after Began, and nothing in between was too late
			}
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

// spacing: Spaced and VisibilitySet.
func (c *checker) spacing() {
	for _, i := range c.Invocations {
		if i.Killed.Came() {
			continue
		}
		for _, o := range i.Results {
			d, at := o.delivery, i.appears(o.delivery)
			if o.Outcome.Done() {
				continue
			}
			if o.VisibilitySet && !at.set {
				c.violated(VisibilitySet, i.Answered, "%v: the toolkit says that its visibility was set, SQS never did", d.story)
			}
			if !at.set && !i.abandoned(o) && cleanBut(i.Calls, o.Receipt) && i.Answered.At.Before(c.settleBy(i)) {
				c.violated(VisibilitySet, i.Answered, "%v is %v, and its visibility was not set, though no call failed", d.story, o.Outcome)
			}
			if at.set && o.VisibilitySet && (o.Outcome == batch.Retry || o.Outcome == batch.InProgress || o.Outcome == batch.Abandoned) && !c.shown(d, earliest(i.Answered, d.lastSet())) && !i.heldTwice(o.MessageID) {
				c.spaced(d, o, at)
			}
		}
	}
}

// spaced looks at a failure whose visibility was set.
func (c *checker) spaced(d *delivery, o Outcome, at appearance) {
	i := d.invocation
	due := o.FailedAt.Add(o.VisibleIn)
	if at.hidden && !at.appears.Before(due.Add(time.Second+anInstant)) {
		c.violated(Spaced, i.Answered, "%v failed and is due after %v, but appears %v after its failure", d.story, o.VisibleIn, at.appears.Sub(o.FailedAt))
	}
	for _, later := range d.story.deliveries {
		if e := later.received; d.received.Before(e.Moment) && e.At.After(o.FailedAt) && e.At.Before(due) {
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
	outage := cmp.Or(d.function.Outage, settle.DefaultOutage)
	most := cmp.Or(d.function.MaxReceiveCount, d.queue.MaxReceive)
	switch {
	case most == 1:
		return 0
	case d.function.MaxReceiveCount == 0 && !c.says(d):
		return time.Second
	case most > 1 && o.Attempt == most-1:
		return outage - o.FailedAt.Sub(d.story.deliveries[0].received.At) - time.Second
	case most > 1:
		return max(time.Second, min(2*time.Second, outage/time.Duration(most-1)))
	}
	return min(2*time.Second, outage)
}

// says reports whether a delivery's queue tells its attributes: no call for them was refused, or took long.
func (c *checker) says(d *delivery) bool {
	if d.function.SlowHook != "" || d.function.PerEnvironment > 1 {
		return false
	}
	for _, w := range c.works() {
		for _, call := range w.Calls {
			if call.Operation == "GetQueueAttributes" && (!call.clean() || call.Ended.At.Sub(call.Began.At) > 100*time.Millisecond) {
				return false
			}
		}
	}
	return true
}

// asksFor is the time for which a handler has asked until its record comes back: that
// time exactly, or by an abort that time at least. With none asked for it is 0.
func (d *delivery) asksFor(o Outcome) (after time.Duration, exactly bool) {
	if o.Outcome != batch.Retry && o.Outcome != batch.InProgress || d.handling == nil {
		return 0, false
	}
	v := batch.VerdictOf(d.handling.Err)
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

// appears is how a delivery's visibility was set before the response.
func (i *Invocation) appears(d *delivery) (a appearance) {
	for _, e := range d.set {
		if e.ok && e.ended.Before(i.Answered) {
			a = appearance{e.at.At.Add(e.hidden), e.hidden > 0, true}
		}
	}
	return a
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
		for _, h := range c.handlings {
			if h.Invocation == i {
				running = running || !h.Ended.Before(i.Answered)
				latest(h.Ended.At)
			}
		}
		if !running && i.Answered.At.Sub(last) > anInstant {
			c.violated(Prompt, i.Answered, "invocation %d answers %v after its last handler and its last call were over", i.Number, i.Answered.At.Sub(last))
		}
	}
}

// hidden: Hidden.
func (c *checker) hidden() {
	for _, h := range c.handlings {
		d := h.delivery
		if c.repeats(d.queue) || !h.Process.clean("ChangeMessageVisibilityBatch") {
			continue
		}
		over := h.overIn()
		for _, e := range d.story.events {
			shown := e.Kind == sqs.Returned || e.Kind == sqs.Received || e.Kind == sqs.Visibility && e.Visibility == 0
			if shown && h.Started.Before(e.Moment) && e.At.Before(over.At) {
				c.violated(Hidden, e.Moment, "%v is handled by process %d from %s to %s, and others can receive it",
					d.story, h.Process.Number, since(c.Began, h.Started.At), since(c.Began, over.At))
				break
			}
		}
	}
}

// hiddenAt is until when a delivery's message was hidden as seen at a moment,
// by what this delivery did; zero when it was visible, gone or another's. A
// moment without a number comes after all that happened at its time.
func (c *checker) hiddenAt(d *delivery, at Moment) (until time.Time) {
	for _, e := range d.story.events {
		if e.At.After(at.At) || at.Came() && at.Before(e.Moment) || e.Before(d.received.Moment) {
			continue
		}
		switch e.Kind {
		case sqs.Received:
			until = time.Time{}
			if e.ReceiptHandle == d.received.ReceiptHandle {
				until = e.At.Add(e.Visibility)
			}
		case sqs.Visibility:
			if e.ReceiptHandle == d.received.ReceiptHandle {
				until = e.At.Add(e.Visibility)
			}
		case sqs.Returned, sqs.Deleted, sqs.Redriven, sqs.Expired:
			until = time.Time{}
		}
	}
	if !until.After(at.At) {
		return time.Time{}
	}
	return until
}

// freed: Freed.
func (c *checker) freed() {
	for _, p := range c.Processes {
		if p.Killed.Came() || !p.Returned.Came() || !p.clean() || c.function(p).SlowHook != "" {
			continue
		}
		for _, d := range p.deliveries {
			until := c.hiddenAt(d, p.Returned)
			if until.IsZero() || c.repeats(d.queue) || c.mayHide(d, until) || c.putOff(d, until) {
				continue
			}
			c.violated(Freed, p.Returned, "%v is hidden for another %v, although process %d has stopped and it is not done",
				d.story, until.Sub(p.Returned.At), p.Number)
		}
	}
	c.notTaken()
}

// mayHide reports whether a message is hidden for its backoff, or because its handler was given up on.
func (c *checker) mayHide(d *delivery, until time.Time) bool {
	if d.handling == nil {
		return d.outcome != nil && d.outcome.Outcome == batch.Skipped && d.outcome.VisibilitySet ||
			c.inGroupThatFailed(d)
	}
	h := d.handling
	given := h.overIn()
	switch {
	case !h.Ended.Came() || h.Ended.At.After(given.At), h.Canceled.Came() && same(h.Ended.At, given.At): // given up
		return true
	case h.End.done():
		return h.Canceled.Came() // it may have been given up at that very moment
	case d.outcome == nil:
		return false
	case h.cutOff():
		return false
	}
	return d.outcome.VisibilitySet && !until.After(h.Ended.At.Add(d.outcome.VisibleIn+time.Second+slow))
}

// cutOff reports whether a handler failed because its process stopped, or found that it has to.
func (h *Handling) cutOff() bool {
	p, found := h.Process, earliest(h.Canceled, h.Ended) // it may have returned first
	return h.End == Failed && !h.TakenOver && errors.Is(h.Err, context.Canceled) && (p.Stopping.Before(found) || p.Err != nil)
}

// lostInStop reports whether a handler lost its claim in a stop: it was cut off, or failed, by which came first.
func (h *Handling) lostInStop() bool {
	return h.TakenOver && h.Process.Stopping.Came() && !h.Ended.At.Before(h.Process.Stopping.At)
}

// inGroupThatFailed reports whether a record of a delivery's group failed in its process: this one comes back with it.
func (c *checker) inGroupThatFailed(d *delivery) bool {
	return slices.ContainsFunc(d.inGroup(), func(h *Handling) bool { return h.fails() && !h.overIn().At.Before(d.got.At) })
}

// notTaken: Freed. What a call receives that its process has given up is lost until its visibility is over.
func (c *checker) notTaken() {
	if c.Plan.faulty() || slices.ContainsFunc(c.Processes, func(p *Process) bool { return p.Killed.Came() }) {
		return
	}
	for _, d := range c.deliveries {
		if d.process == nil {
			c.violated(Freed, d.received.Moment, "%v was received by a call that its process had given up", d.story)
		}
	}
}

// pollSpacing: Spaced and VisibilitySet.
func (c *checker) pollSpacing() {
	for _, p := range c.Processes {
		for _, o := range p.Results {
			d := o.delivery
			if d.process != p || o.Outcome.Done() || o.Outcome == batch.Abandoned || c.repeats(d.queue) {
				continue
			}
			if !o.VisibilitySet {
				lost := o.Lost && c.shown(d, p.gone()) // it was shown by SQS before
				// Or as the last open receive ended, which a release waits for.
				released := o.Outcome == batch.NotStarted || d.handling != nil && p.Stopping.Before(d.handling.Ended)
				lost = lost || p.Stopping.Came() && released && c.hiddenAt(d, p.Stopping).Before(p.Stopping.At.Add(2*time.Second+sharesCall))
				if !lost && p.clean() && !p.Killed.Came() && c.function(p).SlowHook == "" && !c.skippedForAbandoned(p, d) {
					c.violated(VisibilitySet, p.gone(), "%v is %v in process %d, and its visibility was not set, though no call failed", d.story, o.Outcome, p.Number)
				}
				continue
			}
			set, ok := c.lastSet(d)
			if !ok && d.handling == nil && !p.clean("ChangeMessageVisibilityBatch") {
				continue // it may have come again while it waited, and was settled by that handle
			}
			extended := ok && d.handling != nil && set.Before(d.handling.Ended) // before it failed, and not set since
			if (!ok || extended) && c.shown(d, p.gone()) {
				continue // SQS accepts a change that comes too late, without effect
			}
			if !ok {
				c.violated(VisibilitySet, p.gone(), "%v: process %d says that its visibility was set, SQS never did", d.story, p.Number)
				continue
			}
			if (o.Outcome == batch.Retry || o.Outcome == batch.InProgress) && d.handling != nil && !d.handling.cutOff() && !d.handling.lostInStop() {
				c.comesBack(d, o, set)
			}
		}
	}
}

// skippedForAbandoned reports whether a delivery was skipped for one whose
// handler was given up on: it comes back with that, when its visibility is over.
func (c *checker) skippedForAbandoned(p *Process, d *delivery) bool {
	return d.handling == nil && d.queue.FIFO() && slices.ContainsFunc(p.Results, func(o Outcome) bool {
		return o.Outcome == batch.Abandoned && o.delivery.plan.Group == d.plan.Group
	})
}

// lastSet is when the visibility of a delivery of a message was last set, and
// for how long. One that came again while it was handled is settled by its
// later receipt handle.
func (c *checker) lastSet(d *delivery) (set Event, ok bool) {
	for _, e := range d.story.events {
		if e.Kind != sqs.Visibility || e.Before(d.got) {
			continue
		}
		if by := c.deliveries[e.ReceiptHandle]; by == d || by != nil && c.cameAgain(by, d) {
			set, ok = e, true
		}
	}
	return set, ok
}

// cameAgain reports whether a process was given a message that it was handling, or sending to the dead-letter queue.
func (c *checker) cameAgain(later, d *delivery) bool {
	if later.process != d.process || later.story != d.story || later.handling != nil || d.handling == nil {
		return false
	}
	return later.got.Before(d.handling.overIn()) || c.sentDeadAfter(d, later.got) && (d.outcome == nil || later.got.Before(d.outcome.Settled))
}

// sentDeadAfter reports whether a message was sent to a dead-letter queue after a moment, before its next handling.
func (c *checker) sentDeadAfter(d *delivery, after Moment) bool {
	return slices.ContainsFunc(c.Events, func(e Event) bool {
		return (e.Kind == sqs.Sent || e.Kind == sqs.Duplicate) && e.Queue != d.queue.Name && e.Body == d.sent.Body && after.Before(e.Moment) &&
			!slices.ContainsFunc(d.story.handlings, func(h *Handling) bool { return after.Before(h.Started) && h.Started.Before(e.Moment) })
	})
}

// comesBack looks at a failure whose visibility was set.
func (c *checker) comesBack(d *delivery, o Outcome, set Event) {
	h := d.handling
	due := h.Ended.At.Add(o.VisibleIn)
	appears := set.At.Add(set.Visibility)
	switch {
	case appears.Before(due) && set.Visibility > 0, set.Visibility == 0 && o.VisibleIn > set.At.Sub(h.Ended.At):
		c.violated(Spaced, set.Moment, "%v failed and is due after %v, but appears %v after its failure", d.story, o.VisibleIn, appears.Sub(h.Ended.At))
	case d.process.clean() && appears.After(due.Add(time.Second+slow)):
		c.violated(Spaced, set.Moment, "%v failed and is due after %v, but appears only %v after its failure", d.story, o.VisibleIn, appears.Sub(h.Ended.At))
	}
	c.backsOff(d, o, set.Moment)
}

// alone: Alone, of both modes.
func (c *checker) alone() {
	until := map[string]time.Time{} // by receipt handle
	for _, e := range c.Events {
		d := c.deliveries[e.ReceiptHandle]
		switch {
		case d == nil || c.repeats(d.queue):
		case e.Kind == sqs.Received:
			until[e.ReceiptHandle] = e.At.Add(e.Visibility)
		case e.Kind == sqs.Visibility:
			shows := e.At.Add(e.Visibility)
			if d.handling != nil && d.handling.Started.Before(e.Moment) && !d.handling.Ended.Before(e.Moment) &&
				shows.Before(until[e.ReceiptHandle].Add(-time.Second)) {
				c.violated(Alone, e.Moment, "%v is shown after %v, instead of %v, while its handler is at work",
					d.story, e.Visibility, until[e.ReceiptHandle].Sub(e.At))
			}
			until[e.ReceiptHandle] = shows
		}
	}
}
