package simulate

import (
	"cmp"
	"slices"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// groupKey names a message group.
type groupKey struct{ queue, id string }

// members are the messages of each group in the order in which they were sent.
func (c *checker) members() map[groupKey][]*story {
	members := map[groupKey][]*story{}
	for _, m := range c.ordered {
		if m.queue.FIFO() {
			g := groupKey{m.queue.Name, m.sent.MessageGroupID}
			members[g] = append(members[g], m)
		}
	}
	for _, list := range members {
		slices.SortFunc(list, func(a, b *story) int { return cmp.Compare(a.sent.SequenceNumber, b.sent.SequenceNumber) })
	}
	return members
}

// groups: Ordered, of both modes.
func (c *checker) groups() {
	members := c.members()
	type place struct {
		groupKey
		process *Process // nil on Lambda
	}
	running := map[place]*Handling{} // the latest of each group
	for _, h := range c.handlings {
		m := h.delivery.story
		if !m.queue.FIFO() || h.Told && c.Blocked[h.Receipt] { // it was written before the hook blocked
			continue
		}
		g := groupKey{m.queue.Name, m.sent.MessageGroupID}
		for _, earlier := range members[g] {
			if earlier == m {
				break
			}
			if !c.done(earlier, h) {
				c.violated(Ordered, h.Started, "%v of group %s is handled before %v, which was sent before it and is not done", m, h.Group, earlier)
			}
		}
		at := place{g, h.Process}
		if before := running[at]; before != nil && c.overlap(before, h) {
			c.violated(Ordered, h.Started, "%v of group %s is handled while message %d still is", m, h.Group, before.Number)
		}
		running[at] = h
	}
}

// done reports whether nothing of a message was left to do when a handling of a later
// one of its group began, or only to delete it by the same invocation or process.
func (c *checker) done(m *story, when *Handling) bool {
	if m.gone.Before(when.Started) || c.heldAtLast(m, when.Started) {
		return true
	}
	return slices.ContainsFunc(m.handlings, func(h *Handling) bool {
		return h.work() == when.work() &&
			(h.End.done() && h.Ended.Before(when.Started) || h.endsBefore(when.Started) && c.buried(h, when.Started))
	})
}

// overlap reports whether a handling was not over when the next one of its group began.
func (c *checker) overlap(before, next *Handling) bool {
	if next.Process != nil {
		return before.overIn().At.Sub(next.Started.At) > anInstant
	}
	return !before.over().Before(next.Started) && !(before.late() && c.buried(before, next.Started))
}

// over is when a handling was over for its group: it returned, or its invocation answered without it or died.
func (h *Handling) over() Moment {
	return earliest(h.Ended, h.Invocation.Answered, h.Invocation.Killed)
}

// together is how far apart may be what a group's visibility was set to: whole seconds, and
// in an invocation with calls that fail the time until another try.
func (i *Invocation) together() time.Duration {
	if i.clean() {
		return time.Second
	}
	return 3 * time.Second
}

// together: Together, of invocations.
func (c *checker) together() {
	for _, i := range c.Invocations {
		if i.Killed.Came() {
			continue
		}
		stuck := !slices.ContainsFunc(i.Results, func(o Outcome) bool { return o.Outcome != batch.NotStarted })
		for k, o := range i.Results {
			d, at := o.delivery, i.appears(o.delivery)
			if !at.set || !o.VisibilitySet || i.heldTwice(o.MessageID) {
				continue
			}
			switch o.Outcome {
			case batch.NotStarted:
				// Where nothing could be started at all, a backoff keeps it from going round and round.
				if at.hidden && !o.Aborted && (!stuck || o.Attempt == 1) {
					c.violated(Together, i.Answered, "%v was not started in invocation %d, and is hidden for %v", d.story, i.Number, at.appears.Sub(i.Answered.At))
				}
			case batch.Skipped:
				failed := c.skippedFor(i, k)
				with := i.appears(failed.delivery)
				switch {
				case failed.Outcome.Done() && at.hidden && i.clean(): // else it may have been sent when the batch had given it up
					c.violated(Together, i.Answered, "%v was skipped in invocation %d for one that is %v, and is hidden", d.story, i.Number, failed.Outcome)
				case !failed.Outcome.Done() && with.set && failed.VisibilitySet && apart(with.appears, at.appears) > i.together() &&
					at.appears.Sub(i.Answered.At) < 11*time.Hour: // what is longer is cut to what SQS takes
					c.violated(Together, i.Answered, "%v was skipped in invocation %d, and appears %v from what it was skipped for", d.story, i.Number, at.appears.Sub(with.appears))
				}
			}
		}
	}
}

// skippedFor is the failure of its group for which a result was skipped.
func (c *checker) skippedFor(i *Invocation, skipped int) Outcome {
	group := i.Results[skipped].delivery.sent.MessageGroupID
	for k := skipped - 1; k >= 0; k-- {
		if o := i.Results[k]; o.delivery.sent.MessageGroupID == group && o.Outcome != batch.Skipped {
			return o
		}
	}
	return Outcome{delivery: &delivery{}}
}

func apart(a, b time.Time) time.Duration { return a.Sub(b).Abs() }

// pollTogether: Together, of processes.
func (c *checker) pollTogether() {
	for _, p := range c.Processes {
		for _, o := range p.Results {
			d := o.delivery
			if d.process != p || !o.VisibilitySet || c.repeats(d.queue) || d.handling != nil {
				continue
			}
			set, ok := c.lastSet(d)
			until := set.At.Add(set.Visibility)
			if by := c.deliveries[set.ReceiptHandle]; by != nil && by.last() != nil { // SQS may have taken its time
				until = by.last().at.At.Add(by.last().hidden)
			}
			switch {
			case !ok || set.Visibility == 0 || d.cameAgainMeanwhile():
			case o.Outcome == batch.NotStarted && !c.putOff(d, until):
				c.violated(Together, set.Moment, "%v was not started by process %d, and is hidden for %v", d.story, p.Number, set.Visibility)
			case o.Outcome == batch.Skipped && p.clean("ChangeMessageVisibilityBatch") && !c.appearsWithFailure(d, set.At.Add(set.Visibility)):
				c.violated(Together, set.Moment, "%v was skipped by process %d, and is hidden for %v, as nothing that failed", d.story, p.Number, set.Visibility)
			}
		}
	}
}

// cameAgainMeanwhile reports whether a process was given a message again that it held, and gave back the later delivery.
func (d *delivery) cameAgainMeanwhile() bool {
	return slices.ContainsFunc(d.story.deliveries, func(later *delivery) bool {
		return later.process == d.process && d.got.Before(later.got) && later.outcome == nil
	})
}

// appearsWithFailure reports whether a delivery is shown again with a failure of its group, or does not have to be.
func (c *checker) appearsWithFailure(d *delivery, at time.Time) bool {
	return c.function(d.process).slowStart() || slices.ContainsFunc(d.inGroup(), func(h *Handling) bool {
		set, ok := c.lastSet(h.delivery)
		return h.fails() && (!ok || apart(set.At.Add(set.Visibility), at) <= time.Second)
	})
}

// spared: Spared, of both modes.
func (c *checker) spared() {
	for _, m := range c.ordered {
		if m.gone.Kind != sqs.Redriven || !m.queue.FIFO() || m.function.OnPermanent == "retry" || m.function.SlowHook != "" ||
			m.function.DeadLetterQueue != "" && !c.Plan.reaches(m.function.DeadLetterQueue, m.queue) || len(m.handlings) > 0 {
			continue
		}
		d := m.lastDelivery()
		if d == nil || d.outcome == nil || d.outcome.Outcome == batch.NotStarted && d.outcome.Aborted {
			continue
		}
		if by := c.inItsWay(d); by != nil && c.says(d) && c.calm(d) && c.hadRoom(d, by) {
			c.violated(Spared, m.gone.Moment, "%v was moved to the dead-letter queue unhandled: it was %v because of message %d, which %s",
				m, d.outcome.Outcome, by.Number, said(true, by.End))
		}
	}
}

// lastDelivery is the one after which SQS gave up on a message.
func (m *story) lastDelivery() *delivery {
	if len(m.deliveries) == 0 {
		return nil
	}
	return m.deliveries[len(m.deliveries)-1]
}

// inItsWay is the handling of a message of a delivery's group, before it in its batch
// or held with it by its process, that failed at its last attempt; nil if none did.
func (c *checker) inItsWay(d *delivery) *Handling {
	for _, h := range d.inGroup() {
		before := h.delivery
		if before.story.failsLast(h) && h.Attempt >= before.queue.MaxReceive && before.got == d.got { // else they came by two receives
			return h
		}
	}
	return nil
}

// calm reports whether nothing but handlers went wrong where a delivery was: no call
// failed, nothing was killed, stopped or paused, and no handler aborted the others.
func (c *checker) calm(d *delivery) bool {
	if i := d.invocation; i != nil {
		return !i.Killed.Came() && i.Answered.Came() && i.clean() && i.arrived() && len(c.abortsIn(i)) == 0
	}
	p := d.process
	return p != nil && p.clean() && !p.Killed.Came() && p.Err == nil && len(p.Paused) == 0 && !p.Stopping.Before(d.gone.Moment) &&
		!c.aborted(p)
}

// hadRoom reports whether an invocation had the time, when the record in the way began,
// for what rule 16 keeps: a figure for each behind it, a grace and a send for itself.
// In a container those behind are extended until it is their turn.
func (c *checker) hadRoom(d *delivery, by *Handling) bool {
	i := d.invocation
	if i == nil {
		return true
	}
	f := d.function
	if by.late() && by.Attempt == 1 && f.MaxReceiveCount == 0 {
		return false // that its first attempt is its last may not be known before anything failed
	}
	each := max(time.Second, f.MinRemaining)
	for _, h := range i.handlings {
		if h.Ended.Came() {
			each = max(each, h.Ended.At.Sub(h.Started.At))
		}
	}
	remaining := i.Deadline.Add(-c.reserve(i)).Sub(by.Started.At)
	leaves := time.Duration(len(i.Records))*each + cmp.Or(f.Grace, time.Second) + time.Second
	return remaining-leaves > remaining/2 && remaining-leaves > 2*each
}
