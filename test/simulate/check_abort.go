package simulate

import (
	"cmp"
	"slices"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/settle"

	"github.com/sqsbatch/sqsbatch/batch"
)

// abortsFor reports whether a handling ended with batch.Abort, and for how long, in SQS's whole seconds.
func (h *Handling) abortsFor() (after time.Duration, ok bool) {
	v := batch.VerdictOf(h.Err)
	if !v.Aborts {
		return 0, false
	}
	return (min(v.After, maxVisibility) + time.Second - 1).Truncate(time.Second), true
}

// longest is what is longer than SQS takes when some of its 12 hours are over.
const longest = 11 * time.Hour

// aborts checks that invocations follow an abort.
func (c *checker) aborts() {
	for _, i := range c.Invocations {
		if !i.answers() {
			continue
		}
		list := c.abortsIn(i)
		c.startsAfter(i, list)
		var by *Handling // the longest
		after := time.Duration(0)
		for _, h := range list {
			if d, _ := h.abortsFor(); by == nil || d > after {
				by, after = h, d
			}
		}
		for _, o := range i.Results {
			d, at := o.delivery, i.appears(o.delivery)
			switch {
			case o.Outcome != batch.NotStarted:
			case o.Aborted != (by != nil):
				c.violated(Heeded, i.Answered, "%v was not started in invocation %d: that it was for an abort is said: %v, and is: %v", d.story, i.Number, o.Aborted, by != nil)
			case by == nil || !at.set || !o.VisibilitySet || i.heldTwice(o.MessageID) || c.putOffFor(d, after) > longest:
			case at.appears.Before(by.Ended.At.Add(after)):
				c.violated(Heeded, i.Answered, "%v was not started for an abort of %v, and appears %v after that", d.story, after, at.appears.Sub(by.Ended.At))
			case at.appears.After(i.Answered.At.Add(c.putOffFor(d, after) + time.Second)):
				c.violated(Heeded, i.Answered, "%v was not started for an abort of %v, and appears %v after the response", d.story, after, at.appears.Sub(i.Answered.At))
			}
		}
	}
}

// putOffFor is how long an abort puts off what was not started at most: its own time, or a failure's if that is longer.
func (c *checker) putOffFor(d *delivery, after time.Duration) time.Duration {
	if after == 0 {
		return 0
	}
	backs := time.Second
	switch b := backoff(d.function.Backoff, c.Plan.Seed); {
	case d.function.Backoff == "outage":
		outage := cmp.Or(d.function.Outage, settle.DefaultOutage)
		backs = max(outage*3/2, outage+3*time.Second)
	case b != nil && d.function.Backoff != "panics":
		for _, other := range c.deliveries { // what came together of a group comes back together
			if other == d || d.queue.FIFO() && other.queue.Name == d.queue.Name && other.sent.MessageGroupID == d.sent.MessageGroupID {
				backs = max(backs, b(other.received.ReceiveCount))
			}
		}
	}
	return max(after, backs)
}

// abortsIn are the aborts that an invocation has taken note of.
func (c *checker) abortsIn(i *Invocation) (list []*Handling) {
	for _, o := range i.Results {
		d := o.delivery
		if d.handling == nil || o.Outcome != batch.Retry && o.Outcome != batch.DeadLettered {
			continue
		}
		h := d.handling
		if givenUp := h.Allowed.Add(cmp.Or(d.function.Grace, time.Second)); !h.Ended.Before(i.Answered) || h.Ended.At.After(givenUp) {
			continue // it was abandoned, and dead-lettered
		}
		if _, ok := h.abortsFor(); ok {
			list = append(list, h)
		}
	}
	return list
}

// startsAfter: what ran goes on, and nothing else begins.
func (c *checker) startsAfter(i *Invocation, list []*Handling) {
	for _, abort := range list {
		for _, h := range i.handlings {
			if !h.Told && h.Started.At.Sub(abort.Ended.At) > anInstant && !c.Blocked[h.Receipt] {
				c.violated(Heeded, h.Started, "message %d is started %v after message %d has aborted invocation %d",
					h.Number, h.Started.At.Sub(abort.Ended.At), abort.Number, i.Number)
			}
		}
	}
}

func isFIFO(queue string) bool { return Queue{Name: queue}.FIFO() }

// delay is an abort of a process.
type delay struct {
	*Handling
	from  Moment
	until time.Time
	// sure tells that the process has taken note of it at from; else perhaps, or later.
	sure bool
}

// delaysOf are the aborts of a process that put off anything.
func (c *checker) delaysOf(p *Process) []delay {
	list, known := c.delays[p]
	if known {
		return list
	}
	for _, h := range p.handlings {
		if after, ok := h.abortsFor(); ok && after > 0 && h.Ended.Came() {
			sure := !h.Canceled.Came() && p.Err == nil && (!p.Stopping.Came() || h.Ended.At.Before(p.Stopping.At))
			list = append(list, delay{h, h.Ended, h.Ended.At.Add(after), sure})
		}
	}
	if c.delays == nil {
		c.delays = map[*Process][]delay{}
	}
	c.delays[p] = list
	return list
}

// putOff reports whether a delivery may be hidden until a time because of an abort.
func (c *checker) putOff(d *delivery, until time.Time) bool {
	if d.process == nil || d.handling != nil {
		return false
	}
	for _, a := range c.delaysOf(d.process) {
		from := a.until
		if last := d.last(); last != nil {
			from = maxTime(from, last.at.At) // a call that is repeated hides for as long as the first
		}
		late := until.After(from.Add(c.putOffFor(d, time.Second) + time.Second + slow))
		if !until.Before(a.until) && !late || !late && until.Sub(d.got.At) > longest {
			return true
		}
	}
	return false
}

// pollAborts checks that processes follow an abort.
func (c *checker) pollAborts() {
	for _, p := range c.Processes {
		for _, a := range c.delaysOf(p) {
			if a.sure {
				c.during(p, a)
			}
		}
		calm := p.clean() && p.Err == nil && !c.function(p).slowStart() && len(p.Paused) == 0
		for _, d := range p.deliveries {
			if calm && !c.repeats(d.queue) && !c.inGroupThatFailed(d) && !c.heldBefore(d) {
				c.givenBack(p, d)
			}
		}
		for _, o := range p.Results {
			if o.Outcome != batch.NotStarted {
				continue
			}
			d := o.delivery
			if o.Aborted && !c.aborted(p) {
				c.violated(Heeded, p.gone(), "%v was not started by process %d for an abort that there was not", d.story, p.Number)
			} else if last := d.last(); !o.Aborted && calm && last != nil && last.hidden != d.received.Visibility && p.beforeStop(last.at) && !c.waitedLong(d, last.at) { // else it is an extension
				c.violated(Heeded, last.at, "%v was not started by process %d, which does not say for what", d.story, p.Number)
			}
		}
	}
}

// waitedLong reports whether a record of a standard queue was given back because it had waited for a slot.
func (c *checker) waitedLong(d *delivery, at Moment) bool {
	return !d.queue.FIFO() && at.At.Sub(d.got.At) >= 20*time.Second
}

// aborted reports whether a handler has aborted a process, perhaps only its own group by an abort of no time.
func (c *checker) aborted(p *Process) bool {
	return slices.ContainsFunc(p.handlings, func(h *Handling) bool { return batch.VerdictOf(h.Err).Aborts })
}

// during: nothing is received or started before an abort is over, and no message is delivered twice for it.
func (c *checker) during(p *Process, a delay) {
	within := func(m Moment) bool { return m.At.Sub(a.from.At) > anInstant && m.At.Before(a.until) }
	for _, call := range p.Calls {
		if call.Operation == "ReceiveMessage" && within(call.Began) {
			c.violated(Heeded, call.Began, "process %d receives %v after message %d has aborted it for %v",
				p.Number, call.Began.At.Sub(a.from.At), a.Number, a.until.Sub(a.from.At))
		}
	}
	// What an open receive brings is given back, and not received again; but what came
	// while its handler still ran comes again when that one's failure says.
	var given []*delivery
	for _, d := range p.deliveries {
		if within(d.got) && p.beforeStop(d.got) && !c.repeats(d.queue) && !d.doneBefore() && !c.heldBefore(d) && !c.function(p).slowStart() {
			given = append(given, d)
		}
	}
	for _, d := range given {
		if slices.ContainsFunc(given, func(before *delivery) bool {
			return before.id == d.id && before.got.Before(d.got) && !p.couldNotHide(before, d.got)
		}) {
			c.violated(Heeded, d.got, "process %d is given %v twice while it is aborted", p.Number, d.story)
		}
	}
	for _, h := range p.handlings {
		switch {
		case h.Told || c.function(p).slowStart():
		case within(h.Started):
			c.violated(Heeded, h.Started, "process %d starts message %d, %v after message %d has aborted it for %v",
				p.Number, h.Number, h.Started.At.Sub(a.from.At), a.Number, a.until.Sub(a.from.At))
		case h.delivery.got.At.Before(a.from.At) && h.Started.At.Sub(a.from.At) > anInstant:
			c.violated(Heeded, h.Started, "process %d has held message %d while it was aborted", p.Number, h.Number)
		}
	}
}

// couldNotHide reports whether SQS confirmed none of a process's calls that were to
// hide a delivery until then. While it answers none at all, few are made, and not for each.
func (p *Process) couldNotHide(d *delivery, until Moment) bool {
	tried := false
	for _, call := range p.Calls {
		// What SQS has refused just before keeps it from being called for 5 s.
		if call.Operation != "ChangeMessageVisibilityBatch" || call.Began.At.Before(d.got.At.Add(-6*time.Second)) || until.Before(call.Began) {
			continue
		}
		answered := slices.ContainsFunc(call.Entries, func(e Entry) bool { return e.OK })
		for _, e := range call.Entries {
			if e.Receipt == d.received.ReceiptHandle && e.OK {
				return false
			}
			tried = tried || e.Receipt == d.received.ReceiptHandle || !answered
		}
	}
	return tried
}

// doneBefore reports whether a process is given a message again that it is done with: it deletes that, abort or not.
func (d *delivery) doneBefore() bool {
	return slices.ContainsFunc(d.story.deliveries, func(before *delivery) bool {
		return before.process == d.process && (before.ended(End.done, d.got) || before.ended(End.forGood, d.got))
	})
}

// waits is for how long what waits for a slot of a standard queue does so at least.
const waits = 19 * time.Second

// givenBack: what was not started is given back for the time of the abort, and for no other reason.
func (c *checker) givenBack(p *Process, d *delivery) {
	last := d.last()
	if d.handling != nil || last == nil || !p.beforeStop(last.at) {
		return
	}
	if !d.queue.FIFO() && last.at.At.Sub(d.got.At) > waits {
		return
	}
	var soonest, latest time.Time // of the aborts that it may have been given back for
	begun := false                // one that it must have been given back for
	for _, a := range c.delaysOf(p) {
		if last.at.At.Before(a.from.At) || a.until.Before(d.got.At) {
			continue
		}
		if latest.IsZero() || a.until.After(latest) {
			latest = a.until
		}
		if a.until.After(last.at.At.Add(-sharesCall)) && (soonest.IsZero() || a.until.Before(soonest)) {
			soonest = a.until
		}
		begun = begun || a.sure && last.at.At.After(a.from.At) && last.at.At.Before(a.until)
	}
	appears := last.at.At.Add(last.hidden)
	switch {
	case latest.IsZero() && last.hidden < d.received.Visibility: // else it is an extension
		c.violated(Heeded, last.at, "%v is given back by process %d, %v after it was received, for no reason", d.story, p.Number, last.at.At.Sub(d.got.At))
	case !begun || latest.Sub(d.got.At) > longest || c.putOffFor(d, time.Second) > longest:
	case appears.Before(soonest):
		c.violated(Heeded, last.at, "%v is put off by process %d, and appears %v before the abort is over", d.story, p.Number, soonest.Sub(appears))
	case appears.After(maxTime(latest, last.at.At.Add(c.putOffFor(d, time.Second))).Add(time.Second + slow)):
		c.violated(Heeded, last.at, "%v is put off by process %d, and appears %v after the abort is over", d.story, p.Number, appears.Sub(latest))
	}
}

// beforeStop reports whether a moment came before a process knew of its end.
func (p *Process) beforeStop(m Moment) bool {
	return m.At.Before(p.gone().At) && (!p.Stopping.Came() || m.At.Before(p.Stopping.At))
}
