package simulate

import (
	"cmp"
	"slices"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// reserve is what is kept back at the end of an invocation, by the words of batch.Config.
func (c *checker) reserve(i *Invocation) time.Duration {
	remaining := i.Deadline.Sub(i.Began.At)
	if r := c.Plan.Functions[i.Function].Reserve; r > 0 {
		return min(r, remaining/2)
	}
	return min(max(remaining/10, 200*time.Millisecond), 2*time.Second, remaining/4)
}

// settleBy is when the batch must be settled: the last quarter of the reserve is for the response.
func (c *checker) settleBy(i *Invocation) time.Time { return i.Deadline.Add(-c.reserve(i) / 4) }

// before is a time before an invocation's deadline, and a moment later, since it takes a moment to begin.
func (c *checker) before(i *Invocation, reserve time.Duration) time.Time {
	return i.Deadline.Add(-reserve + time.Millisecond)
}

// deadlines: Limited and WithinCapacity, of invocations.
func (c *checker) deadlines() {
	together := map[[2]int][]span{} // by function and environment
	for _, i := range c.Invocations {
		f, running := c.Plan.Functions[i.Function], []span{}
		for _, h := range i.handlings {
			running = append(running, c.allowed(i, h))
		}
		if n, at := most(running); n > f.concurrency() {
			c.violated(WithinCapacity, Moment{At: at}, "invocation %d handles %d at a time, its Concurrency is %d", i.Number, n, f.concurrency())
		}
		process := [2]int{i.Function, i.Environment}
		together[process] = append(together[process], running...)
		c.graces(i)
	}
	for process, list := range together {
		limit := c.Plan.Functions[process[0]].Concurrency
		if n, at := most(list); limit > 0 && n > limit {
			c.violated(WithinCapacity, Moment{At: at}, "the invocations of environment %d handle %d at a time, Concurrency is %d", process[1], n, limit)
		}
	}
}

// allowed: Limited. It returns when a handling of an invocation holds its slot.
func (c *checker) allowed(i *Invocation, h *Handling) span {
	c.limited(h, c.Plan.Functions[i.Function].RecordTimeout)
	if !h.Behind && h.Allowed.After(c.before(i, c.reserve(i))) {
		c.violated(Limited, h.Started, "message %d may take until %v before the invocation's deadline, %v are reserved", h.Number, i.Deadline.Sub(h.Allowed), c.reserve(i))
	}
	end := h.Allowed // it may be given up after that
	for _, m := range []Moment{h.Ended, i.Killed} {
		if m.Came() && m.At.Before(end) {
			end = m.At
		}
	}
	return span{h.Started.At, end}
}

// graces: Limited. A handler that ignores its deadline has its grace, unless the batch ends before.
func (c *checker) graces(i *Invocation) {
	grace := cmp.Or(c.Plan.Functions[i.Function].Grace, time.Second)
	for _, o := range i.Results {
		d := o.delivery
		if o.Outcome != batch.Abandoned || d.handling == nil {
			continue
		}
		due := d.handling.Allowed.Add(grace)
		if due.Before(c.before(i, c.reserve(i))) && o.FailedAt.Before(due) {
			c.violated(Limited, i.Answered, "%v was given up %v after its deadline, the grace is %v", d.story, o.FailedAt.Sub(d.handling.Allowed), grace)
		}
	}
}

// span is a time in which something is held.
type span struct{ from, to time.Time }

// most is how many spans there are at one time, and when. One that begins as another ends is not together with it.
func most(list []span) (n int, at time.Time) {
	type edge struct {
		at   time.Time
		step int
	}
	var edges []edge
	for _, s := range list {
		if s.to = s.to.Add(-anInstant); s.from.Before(s.to) {
			edges = append(edges, edge{s.from, 1}, edge{s.to, -1})
		}
	}
	slices.SortFunc(edges, func(a, b edge) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.step, b.step))
	})
	now := 0
	for _, e := range edges {
		if now += e.step; now > n {
			n, at = now, e.at
		}
	}
	return n, at
}

// room: WithinCapacity.
func (c *checker) room() {
	for _, p := range c.Processes {
		var handled, held []span
		for _, h := range p.handlings {
			handled = append(handled, span{h.Started.At, h.overIn().At})
		}
		if n, at := most(handled); n > p.Limits.Concurrency {
			c.violated(WithinCapacity, Moment{At: at}, "process %d handles %d at a time, its Concurrency is %d", p.Number, n, p.Limits.Concurrency)
		}
		if !p.clean("ChangeMessageVisibilityBatch") {
			continue // a release may take as long as it likes; and what is received again while it waits looks like two
		}
		for _, d := range p.deliveries {
			if !c.heldBefore(d) && !c.behindHook(d) {
				held = append(held, span{d.got.At, c.heldUntil(d)})
			}
		}
		if n, at := most(held); n > p.Limits.Concurrency+p.Limits.Prefetch {
			c.violated(WithinCapacity, Moment{At: at}, "process %d holds %d, its Concurrency is %d and its Prefetch %d", p.Number, n, p.Limits.Concurrency, p.Limits.Prefetch)
		}
	}
}

// behindHook reports whether a hook blocked about a delivery, or about one that it was
// skipped for: when that was given up is not in the history.
func (c *checker) behindHook(d *delivery) bool {
	if c.Blocked[d.received.ReceiptHandle] {
		return true
	}
	return d.handling == nil && d.queue.FIFO() && slices.ContainsFunc(d.process.deliveries, func(other *delivery) bool {
		return other.plan.Group == d.plan.Group && c.Blocked[other.received.ReceiptHandle]
	})
}

// heldBefore reports whether a delivery's message was the process's already, by
// an earlier delivery, or only remains to be deleted: it is not held a second time.
func (c *checker) heldBefore(d *delivery) bool {
	for _, before := range d.story.deliveries {
		if before.process != d.process || !before.got.Before(d.got) || before.handling == nil {
			continue
		}
		if h := before.handling; !h.Ended.Before(d.got) || h.End.done() || c.buried(h, d.got) || before.comesBackBy(d) {
			return true
		}
	}
	return false
}

// comesBackBy reports whether the failure of a delivery was settled by the receipt handle of
// a later one: its process was still sending it to the dead-letter queue when that came. If
// that took longer than its backoff, it comes back at once.
func (d *delivery) comesBackBy(later *delivery) bool {
	last := later.last()
	if last == nil || d.outcome == nil || later.handling != nil {
		return false
	}
	after := last.at.At.Add(last.hidden).Sub(d.handling.Ended.At.Add(d.outcome.VisibleIn))
	return after >= 0 && (last.hidden == 0 || after <= time.Second+slow)
}

// heldUntil is when a delivery needed no slot and no place any more.
func (c *checker) heldUntil(d *delivery) time.Time {
	p := d.process
	end := p.gone().At
	earlier := func(m Moment) {
		if m.Came() && !m.At.Before(d.got.At) && m.At.Before(end) {
			end = m.At
		}
	}
	if d.handling != nil {
		earlier(d.handling.overIn())
		return end
	}
	earlier(p.Stopping)
	for _, pause := range p.Paused {
		earlier(pause.From)
	}
	for _, a := range c.delaysOf(p) {
		if earlier(a.from); d.got.At.After(a.from.At) && d.got.At.Before(a.until) {
			earlier(d.got)
		}
	}
	for _, e := range d.set {
		// An abort that comes before the call puts off what was to be released by it.
		if e.hidden == 0 || c.putOff(d, e.at.At.Add(e.hidden)) {
			e.at.At = maxTime(d.got.At, e.at.At.Add(-sharesCall-slow)) // an extension may have been open
			earlier(e.at)
		}
	}
	for _, h := range d.inGroup() { // the failure that it is skipped for
		if h.fails() {
			earlier(h.overIn())
		}
	}
	for _, e := range d.story.events {
		if d.received.Before(e.Moment) && (e.Kind == sqs.Returned || e.Kind == sqs.Received) {
			earlier(e.Moment)
		}
	}
	return end
}

// sharesCall is how long what is to be released waits for others to share its call.
const sharesCall = 100 * time.Millisecond

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// limits: Limited.
func (c *checker) limits() {
	for _, h := range c.handlings {
		c.limited(h, h.Process.Limits.RecordTimeout)
	}
}

// limited: Limited, of both modes.
func (c *checker) limited(h *Handling, timeout time.Duration) {
	given := h.Allowed.Sub(h.Started.At)
	switch {
	case h.Allowed.IsZero():
		c.violated(Limited, h.Started, "message %d is handled without a deadline", h.Number)
	case timeout > 0 && given > timeout:
		c.violated(Limited, h.Started, "message %d is given %v, the record timeout is %v", h.Number, given, timeout)
	}
}

// swift: Swift.
func (c *checker) swift() {
	for _, p := range c.Processes {
		f := c.function(p)
		if !p.Stopping.Came() {
			continue
		}
		limit := p.Limits.DrainLimit
		switch p.How {
		case Hurried:
			limit = min(limit, p.Patience)
		case Crash:
			limit = 0
		}
		limit += 5*time.Second + p.Limits.Grace + 200*time.Millisecond
		if !p.Returned.Came() || p.Returned.At.Sub(p.Stopping.At) > limit {
			c.violated(Swift, p.Stopping, "process %d was asked to stop and took %v, more than %v", p.Number, p.Returned.At.Sub(p.Stopping.At), limit)
			continue
		}
		last := p.patient()
		for _, h := range p.handlings {
			if over := h.overAfter(p.Limits.Grace).At; over.After(last) && !over.After(p.Returned.At) {
				last = over
			}
		}
		if p.How != Crash && !p.Killed.Came() && f.SlowHook == "" && p.instant() && p.Returned.At.Sub(last) > 300*time.Millisecond {
			c.violated(Swift, p.Returned, "process %d stopped %v after its last handler was over", p.Number, p.Returned.At.Sub(last))
		}
	}
}

// patient is until when a stop may wait for an open receive: 2 s after it began, if the one before brought messages.
func (p *Process) patient() time.Time {
	stop, busy, atOnce := p.Stopping.At, true, false
	var answered, open time.Time
	for _, call := range p.Calls {
		if call.Operation != "ReceiveMessage" || call.Began.At.Sub(stop) > anInstant { // the process may not have known of the stop
			continue
		}
		if call.Began.At.After(open) {
			open = call.Began.At
		}
		switch got := len(call.Got) > 0; {
		case !call.Ended.Came() || call.GivenUp || call.Ended.At.Sub(stop) > anInstant || call.Ended.At.Before(answered):
		case same(call.Ended.At, stop): // the process may have known of it, or not yet
			atOnce = atOnce || got
		default:
			busy = got || busy && same(call.Ended.At, answered)
			answered = call.Ended.At
		}
	}
	if until := open.Add(2 * time.Second); (busy || atOnce) && until.After(stop) {
		return until
	}
	return stop
}

// instant reports whether every call was answered at once; receives may take as long as they wait.
func (p *Process) instant() bool {
	return p.clean() && !slices.ContainsFunc(p.Calls, func(c *Call) bool {
		if c.Operation == "ReceiveMessage" {
			return c.Ended.At.Sub(c.Began.At) > p.Limits.Wait+anInstant
		}
		return !same(c.Ended.At, c.Began.At)
	})
}

func (c *checker) function(p *Process) Function {
	return c.Plan.Functions[c.Plan.Queues[c.Plan.Replicas[p.Replica].Queue].Function]
}
