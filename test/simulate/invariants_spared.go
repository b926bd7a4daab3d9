package simulate

import (
	"cmp"
	"slices"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// spared: Spared, of both modes.
func (c *checker) spared() {
	for _, m := range c.ordered {
		if m.gone.Kind != sqs.Redriven || !m.queue.FIFO() || m.function.OnPermanent == "retry" || m.function.SlowHook != "" ||
			m.function.DeadLetterQueue != "" && !c.Plan.reaches(m.function.DeadLetterQueue, m.queue) ||
			slices.ContainsFunc(c.Handlings, func(h *Handling) bool { return h.MessageID == m.id }) {
			continue
		}
		d := c.lastDelivery(m)
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
func (c *checker) lastDelivery(m *story) (last *delivery) {
	for _, d := range c.deliveries {
		if d.story == m && (last == nil || last.received.Before(d.received.Moment)) {
			last = d
		}
	}
	return last
}

// inItsWay is the handling of a message of a delivery's group, before it in its batch
// or held with it by its process, that failed at its last attempt; nil if none did.
func (c *checker) inItsWay(d *delivery) *Handling {
	for _, h := range c.Handlings {
		before := c.deliveries[h.Receipt]
		if before == nil || before.queue.Name != d.queue.Name || before.sent.MessageGroupID != d.sent.MessageGroupID ||
			before.invocation != d.invocation || before.process != d.process || !before.story.failsLast(h) || h.Attempt < before.queue.MaxReceive {
			continue
		}
		if d.process != nil && before.got != d.got {
			continue // they came by two receives
		}
		return h
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
		!c.aborted(p) && !c.Plan.Replicas[p.Replica].NoHeartbeat
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
	for _, h := range c.Handlings {
		if h.Invocation == i && h.Ended.Came() {
			each = max(each, h.Ended.At.Sub(h.Started.At))
		}
	}
	remaining := i.Deadline.Add(-c.reserve(i)).Sub(by.Started.At)
	leaves := time.Duration(len(i.Records))*each + cmp.Or(f.Grace, time.Second) + time.Second
	return remaining-leaves > remaining/2 && remaining-leaves > 2*each
}
