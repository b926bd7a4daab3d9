package simulate

import (
	"slices"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

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
	for _, h := range c.Handlings {
		if after, ok := h.abortsFor(); ok && after > 0 && h.Process == p && h.Ended.Came() {
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
	if d.process == nil || len(d.handlings) > 0 {
		return false
	}
	for _, a := range c.delaysOf(d.process) {
		late := until.After(a.until.Add(c.putOffFor(d, time.Second) + time.Second + slow))
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
		calm := p.clean() && p.Err == nil && !c.function(p).slowStart() && len(p.Paused) == 0 && !c.Plan.Replicas[p.Replica].NoHeartbeat
		for _, d := range c.deliveries {
			if d.process == p && calm && !c.repeats(d.queue) && !c.inGroupThatFailed(d) && !c.heldBefore(d) {
				c.givenBack(p, d)
			}
		}
		for _, o := range p.Results {
			if o.Outcome != batch.NotStarted {
				continue
			}
			d := c.deliveries[o.Receipt]
			if o.Aborted && !c.aborted(p) {
				c.violated(Heeded, p.gone(), "message %d was not started by process %d for an abort that there was not", c.number(o.MessageID), p.Number)
			} else if last := p.lastEntry(o.Receipt); !o.Aborted && calm && d != nil && last != nil && last.hidden != d.received.Visibility && p.beforeStop(last.at) { // else it is an extension
				c.violated(Heeded, last.at, "%v was not started by process %d, which does not say for what", d.story, p.Number)
			}
		}
	}
}

// aborted reports whether a handler has aborted a process. For no time it ends only
// what a group has left in its batch, if the record itself was buried.
func (c *checker) aborted(p *Process) bool {
	return slices.ContainsFunc(c.Handlings, func(h *Handling) bool {
		_, ok := h.abortsFor()
		return ok && h.Process == p
	})
}

// during: nothing is received or started before an abort is over, and no message
// is delivered more than once for it.
func (c *checker) during(p *Process, a delay) {
	within := func(m Moment) bool { return m.At.After(a.from.At) && m.At.Before(a.until) }
	for _, call := range p.Calls {
		if call.Operation == "ReceiveMessage" && within(call.Began) {
			c.violated(Heeded, call.Began, "process %d receives %v after message %d has aborted it for %v",
				p.Number, call.Began.At.Sub(a.from.At), a.Number, a.until.Sub(a.from.At))
		}
	}
	// What an open receive brings is given back, and not received again; but what came
	// while its handler still ran comes again when that one's failure says.
	var given []*delivery
	for _, d := range c.deliveries {
		if d.process == p && within(d.got) && p.beforeStop(d.got) && !c.repeats(d.queue) && !c.doneBefore(d) && !c.heldBefore(d) && !c.function(p).slowStart() {
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
	for _, h := range c.Handlings {
		if h.Process != p || h.Told || c.function(p).slowStart() {
			continue
		}
		d := c.deliveries[h.Receipt]
		switch {
		case within(h.Started):
			c.violated(Heeded, h.Started, "process %d starts message %d, %v after message %d has aborted it for %v",
				p.Number, h.Number, h.Started.At.Sub(a.from.At), a.Number, a.until.Sub(a.from.At))
		case d != nil && d.got.At.Before(a.from.At) && h.Started.At.After(a.from.At):
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

// doneBefore reports whether a process is given a message that it is done with, and
// could not delete: then it is deleted by the new receipt handle, abort or not.
func (c *checker) doneBefore(d *delivery) bool {
	for _, before := range c.deliveries {
		if before.story == d.story && before.process == d.process && (before.succeeded(d.got) || before.endedAs(ForGood, d.got)) {
			return true
		}
	}
	return false
}

// waits is for how long what waits for a slot of a standard queue does so at least.
const waits = 19 * time.Second

// givenBack: what was not started is given back for the time of the abort, and
// for no other reason.
func (c *checker) givenBack(p *Process, d *delivery) {
	last := p.lastEntry(d.received.ReceiptHandle)
	if len(d.handlings) > 0 || last == nil || !p.beforeStop(last.at) {
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

// entry is a visibility that a process has set.
type entry struct {
	at     Moment // the beginning of the call
	hidden time.Duration
}

// lastEntry is the last visibility that was set by a receipt handle.
func (p *Process) lastEntry(receipt string) (last *entry) {
	for _, call := range p.Calls {
		if call.Operation != "ChangeMessageVisibilityBatch" {
			continue
		}
		for _, e := range call.Entries {
			if e.Receipt == receipt {
				last = &entry{call.Began, time.Duration(e.Seconds) * time.Second}
			}
		}
	}
	return last
}

// beforeStop reports whether a moment came before a process knew of its end.
func (p *Process) beforeStop(m Moment) bool {
	return m.At.Before(p.gone().At) && (!p.Stopping.Came() || m.At.Before(p.Stopping.At))
}
