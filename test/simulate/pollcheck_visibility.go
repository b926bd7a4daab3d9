package simulate

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// hiddenAt is until when a delivery's message was hidden as seen at a moment,
// by what this delivery did; zero when it was visible, gone or another's. A
// moment without a number comes after all that happened at its time.
func (c *checker) hiddenAt(d *delivery, at Moment) (until time.Time) {
	for _, e := range c.Events {
		if e.MessageID != d.id || e.At.After(at.At) || at.Came() && at.Before(e.Moment) || e.Before(d.received.Moment) {
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
		for _, d := range c.deliveries {
			if d.process != p || c.repeats(d.queue) {
				continue
			}
			until := c.hiddenAt(d, p.Returned)
			if until.IsZero() || c.mayHide(d, until) || c.putOff(d, until) {
				continue
			}
			c.violated(Freed, p.Returned, "%v is hidden for another %v, although process %d has stopped and it is not done",
				d.story, until.Sub(p.Returned.At), p.Number)
		}
	}
	c.notTaken()
}

// mayHide reports whether a message is hidden for its backoff, or because its
// handler was given up on.
func (c *checker) mayHide(d *delivery, until time.Time) bool {
	if len(d.handlings) == 0 {
		return d.outcome != nil && d.outcome.Outcome == batch.Skipped && d.outcome.VisibilitySet ||
			c.inGroupThatFailed(d)
	}
	h := d.handlings[0]
	given := h.overIn()
	switch {
	case !h.Ended.Came() || h.Ended.At.After(given.At), h.Canceled.Came() && h.Ended.At.Equal(given.At): // given up
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

// cutOff reports whether a handler failed because its process stopped, or found
// that it has to.
func (h *Handling) cutOff() bool {
	p := h.Process
	return h.End == Failed && !h.TakenOver && errors.Is(h.Err, context.Canceled) && (p.Stopping.Before(h.Canceled) || p.Err != nil)
}

// lostInStop reports whether a handler lost its claim while its process stopped: it was cut
// off, or failed, by which of both came first.
func (h *Handling) lostInStop() bool {
	return h.TakenOver && h.Process.Stopping.Came() && !h.Ended.At.Before(h.Process.Stopping.At)
}

// inGroupThatFailed reports whether a record of a delivery's group failed in its
// process, so that this one comes back with it.
func (c *checker) inGroupThatFailed(d *delivery) bool {
	return d.queue.FIFO() && slices.ContainsFunc(c.Handlings, func(h *Handling) bool {
		return h.Process == d.process && h.Group == d.plan.Group && h.fails() && !h.overIn().At.Before(d.got.At)
	})
}

// notTaken: Freed. A message that was received by a call that its process had given up is
// lost until its visibility is over.
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
			d := c.deliveries[o.Receipt]
			if d == nil || d.process != p || o.Outcome.Done() || o.Outcome == batch.Abandoned || c.repeats(d.queue) {
				continue
			}
			if !o.VisibilitySet {
				lost := o.Lost && c.shown(d, p.gone()) // it was shown by SQS before
				// Or as the last open receive ended, which a release waits for.
				released := o.Outcome == batch.NotStarted || len(d.handlings) > 0 && p.Stopping.Before(d.handlings[0].Ended)
				lost = lost || p.Stopping.Came() && released && c.hiddenAt(d, p.Stopping).Before(p.Stopping.At.Add(2*time.Second+sharesCall))
				if !lost && p.clean() && !p.Killed.Came() && c.function(p).SlowHook == "" && !c.skippedForAbandoned(p, d) {
					c.violated(VisibilitySet, p.gone(), "%v is %v in process %d, and its visibility was not set, though no call failed", d.story, o.Outcome, p.Number)
				}
				continue
			}
			set, ok := c.lastSet(d)
			if !ok && len(d.handlings) == 0 && !p.clean("ChangeMessageVisibilityBatch") {
				continue // it may have come again while it waited, and was settled by that handle
			}
			extended := ok && len(d.handlings) > 0 && set.Before(d.handlings[0].Ended) // before it failed, and not set since
			if (!ok || extended) && c.shown(d, p.gone()) {
				continue // SQS accepts a change that comes too late, without effect
			}
			if !ok {
				c.violated(VisibilitySet, p.gone(), "%v: process %d says that its visibility was set, SQS never did", d.story, p.Number)
				continue
			}
			if (o.Outcome == batch.Retry || o.Outcome == batch.InProgress) && len(d.handlings) > 0 && !d.handlings[0].cutOff() && !d.handlings[0].lostInStop() {
				c.comesBack(d, o, set)
			}
		}
	}
}

// skippedForAbandoned reports whether a delivery was skipped for one whose
// handler was given up on: it comes back with that, when its visibility is over.
func (c *checker) skippedForAbandoned(p *Process, d *delivery) bool {
	return len(d.handlings) == 0 && d.queue.FIFO() && slices.ContainsFunc(p.Results, func(o Outcome) bool {
		m := c.messages[o.MessageID]
		return o.Outcome == batch.Abandoned && m != nil && m.plan.Group == d.plan.Group
	})
}

// lastSet is when the visibility of a delivery of a message was last set, and
// for how long. One that came again while it was handled is settled by its
// later receipt handle.
func (c *checker) lastSet(d *delivery) (set Event, ok bool) {
	for _, e := range c.Events {
		if e.MessageID != d.id || e.Kind != sqs.Visibility || e.Before(d.got) {
			continue
		}
		if by := c.deliveries[e.ReceiptHandle]; by == d || by != nil && c.cameAgain(by, d) {
			set, ok = e, true
		}
	}
	return set, ok
}

// cameAgain reports whether a delivery is of a message that its process was
// handling already, or sending to the dead-letter queue.
func (c *checker) cameAgain(later, d *delivery) bool {
	if later.process != d.process || later.story != d.story || len(later.handlings) > 0 || len(d.handlings) == 0 {
		return false
	}
	return later.got.Before(d.handlings[0].overIn()) || c.sentDeadAfter(d, later.got)
}

// sentDeadAfter reports whether a message was sent to a dead-letter queue after a moment,
// before it was handled again.
func (c *checker) sentDeadAfter(d *delivery, after Moment) bool {
	return slices.ContainsFunc(c.Events, func(e Event) bool {
		return (e.Kind == sqs.Sent || e.Kind == sqs.Duplicate) && e.Queue != d.queue.Name && e.Body == d.sent.Body && after.Before(e.Moment) &&
			!slices.ContainsFunc(c.Handlings, func(h *Handling) bool {
				return h.MessageID == d.id && after.Before(h.Started) && h.Started.Before(e.Moment)
			})
	})
}

// comesBack looks at a failure whose visibility was set.
func (c *checker) comesBack(d *delivery, o Outcome, set Event) {
	h := d.handlings[0]
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
