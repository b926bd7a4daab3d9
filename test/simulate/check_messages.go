package simulate

import (
	"cmp"
	"maps"
	"slices"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/lambda"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// deletions: DeletedOnlyWhenDone.
func (c *checker) deletions() {
	for _, m := range c.ordered {
		e := m.gone
		if e.Kind != sqs.Deleted {
			continue
		}
		d := c.deliveries[e.ReceiptHandle]
		switch {
		case d == nil:
			c.violated(DeletedOnlyWhenDone, e.Moment, "%v was deleted by a handle that no receive gave", m)
		case c.Plan.Polls() && d.story.ended(End.done, e.Moment): // perhaps as an earlier delivery
		case d.ended(End.done, e.Moment), c.heldAtLast(m, e.Moment):
		case !c.forGood(d, e.Moment) && !c.endedLast(d, e.Moment):
			c.violated(DeletedOnlyWhenDone, e.Moment, "%v was deleted, but its handler did not succeed", m)
		case m.function.OnPermanent == "drop" && c.forGood(d, e.Moment):
		case !c.sentDead(d, e.Moment):
			c.violated(DeletedOnlyWhenDone, e.Moment, "%v was deleted before a dead-letter queue had it", m)
		}
	}
}

// forGood reports whether a delivery failed for good, or an earlier one of its message, which a poller remembers.
func (c *checker) forGood(d *delivery, before Moment) bool {
	return d.ended(End.forGood, before) || c.Plan.Polls() && d.story.ended(End.forGood, before)
}

// endedLast reports whether a message failed the last time that SQS delivers it.
func (c *checker) endedLast(d *delivery, before Moment) bool {
	return slices.ContainsFunc(d.story.handlings, func(h *Handling) bool { return d.story.failsLast(h) && h.endsBefore(before) })
}

// failsLast reports whether the last delivery of a FIFO message failed or was given up: it may be dead-lettered in place.
func (m *story) failsLast(h *Handling) bool {
	most := cmp.Or(m.function.MaxReceiveCount, m.queue.MaxReceive)
	return m.queue.FIFO() && m.function.OnPermanent != "retry" && most > 0 && h.Attempt >= most && (!h.End.done() || h.late())
}

// heldAtLast reports whether a message was dead-lettered in place since a hook held up its last delivery.
func (c *checker) heldAtLast(m *story, before Moment) bool {
	return slices.ContainsFunc(m.deliveries, func(d *delivery) bool {
		return c.Blocked[d.received.ReceiptHandle] && m.failsLast(&Handling{Attempt: d.received.ReceiveCount}) && c.sentDead(d, before)
	})
}

// late reports whether a handler outlasts its time, so that it may be given up.
func (h *Handling) late() bool { return !h.Ended.Came() || h.Ended.At.Sub(h.Allowed) > anInstant }

// endsBefore reports whether a handler has returned, or may have been given up, before a moment.
func (h *Handling) endsBefore(m Moment) bool {
	return h.Ended.Before(m) || h.late() && h.Allowed.Before(m.At)
}

// buried reports whether the message of a failure was dropped or dead-lettered, so that it only has to be deleted.
func (c *checker) buried(h *Handling, before Moment) bool {
	d := h.delivery
	switch {
	case h.End == ForGood && d.function.OnPermanent == "drop":
		return true
	}
	return (h.End == ForGood || d.story.failsLast(h)) && c.sentDead(d, before)
}

// sentDead reports whether a delivery was sent to a dead-letter queue as it is.
func (c *checker) sentDead(d *delivery, before Moment) bool {
	for _, e := range c.Events {
		if (e.Kind == sqs.Sent || e.Kind == sqs.Duplicate) && e.Queue != d.queue.Name && e.Body == d.sent.Body &&
			e.Before(before) && d.given().Before(e.Moment) {
			return true
		}
	}
	return false
}

// given is when the toolkit was given a delivery. (A poller may have settled an earlier one by its receipt handle.)
func (d *delivery) given() Moment {
	if d.invocation != nil {
		return d.invocation.Began
	}
	return d.sent.Moment
}

// losses: Kept. What was deleted is the business of DeletedOnlyWhenDone.
func (c *checker) losses() {
	for _, m := range c.ordered {
		switch m.gone.Kind {
		case sqs.Expired:
			c.violated(Kept, m.gone.Moment, "%v stayed in its queue until the end of its retention", m)
		case sqs.Redriven:
			if !c.isDead(m, m.gone.DeadLetterQueue) {
				c.violated(Kept, m.gone.Moment, "%v was moved to %s by SQS and is not there", m, m.gone.DeadLetterQueue)
			}
		case sqs.Deleted:
			d := c.deliveries[m.gone.ReceiptHandle]
			if d != nil && d.outcome != nil && d.outcome.Outcome == batch.DeadLettered &&
				!c.isDead(m, batch.QueueName(d.outcome.DeadLetters)) {
				c.violated(Kept, m.gone.Moment, "%v was deleted as a dead letter, and is not in %q as it was sent", m, d.outcome.DeadLetters)
			}
		}
	}
}

// isDead reports whether the message is in a dead-letter queue, unchanged.
func (c *checker) isDead(m *story, queue string) bool {
	for _, d := range c.Dead {
		if d.Queue == queue && d.Body == m.sent.Body && maps.Equal(d.Attributes, plain(m.plan.attributes())) &&
			d.Trace == m.plan.trace() && (!m.queue.FIFO() || d.Group == m.plan.Group) {
			return true
		}
	}
	return false
}

// deadLetters: Kept. Nothing is in a dead-letter queue that was not sent.
func (c *checker) deadLetters() {
	known := map[string]*story{}
	for _, m := range c.ordered {
		known[m.sent.Body] = m
	}
	for _, d := range c.Dead {
		m := known[d.Body]
		switch {
		case m == nil:
			c.violated(Kept, c.last(), "%s holds a message that was never sent: %q", d.Queue, d.Body)
		case !maps.Equal(d.Attributes, plain(m.plan.attributes())):
			c.violated(Kept, c.last(), "%s holds %v with other attributes: %q", d.Queue, m, d.Attributes)
		}
	}
}

func (c *checker) last() Moment {
	if len(c.Events) == 0 {
		return Moment{At: c.Began, Seq: 1}
	}
	return c.Events[len(c.Events)-1].Moment
}

// repetitions: Final.
func (c *checker) repetitions() {
	for _, i := range c.Invocations {
		c.ownDeletes(i)
		if !i.arrived() {
			continue
		}
		for k, r := range i.Records {
			d := c.deliveries[r.ReceiptHandle]
			if h := d.handling; h == nil || !h.End.done() || !c.inTime(h) || i.heldTwice(r.MessageID) || i.Result.AllFailed != "" {
				continue
			}
			verdict := i.Result.Verdicts[k]
			if !verdict.Deleted && verdict.Err == nil {
				c.violated(Final, i.Ended, "%v succeeded, and was reported as failed", d.story)
			}
			if again := c.handledAgain(d); again != nil && verdict.Err == nil {
				c.violated(Final, again.Started, "%v is handled again, after a success whose response had arrived", d.story)
			}
		}
	}
}

// ownDeletes: a function that fails to keep what failed deletes by itself what is done.
func (c *checker) ownDeletes(i *Invocation) {
	if !c.Plan.Functions[i.Function].DeleteSucceeded || i.Err == nil || i.Killed.Came() || !i.clean() {
		return
	}
	for _, o := range i.Results {
		d := o.delivery
		if o.Outcome.Done() && !d.gone.Before(i.Answered) && !c.shown(d, i.Answered) {
			c.violated(Final, i.Answered, "%v is %v, and was not deleted before invocation %d failed", d.story, o.Outcome, i.Number)
		}
	}
}

// inTime reports whether the handler returned before its context ended, and before its batch was over.
func (c *checker) inTime(h *Handling) bool {
	i := h.Invocation
	return h.Ended.Came() && h.Ended.At.Before(i.Deadline.Add(-c.reserve(i))) && h.Ended.At.Sub(h.Allowed) <= anInstant
}

// handledAgain returns a handling after a success whose message was hidden by this delivery all the time; nil for none.
func (c *checker) handledAgain(success *delivery) *Handling {
	i := success.invocation
	for _, g := range success.story.handlings {
		if i.Ended.Before(g.Started) && i.Ended.Before(g.delivery.received.Moment) && !c.shown(success, i.Ended) {
			return g
		}
	}
	return nil
}

// shown reports whether a message became visible before a moment: its visibility ended, or SQS delivered it again.
func (c *checker) shown(d *delivery, before Moment) bool {
	if d.received.Visibility == 0 {
		return true
	}
	for _, e := range d.story.events {
		if (e.Kind == sqs.Returned || e.Kind == sqs.Received) && d.received.Before(e.Moment) && e.Before(before) {
			return true
		}
	}
	return false
}

// heldTwice reports whether an invocation has a message more than once: a failure of one of them keeps both.
func (i *Invocation) heldTwice(id string) bool {
	n := 0
	for _, r := range i.Records {
		if r.MessageID == id {
			n++
		}
	}
	return n > 1
}

// single: Single.
func (c *checker) single() {
	if c.Plan.faulty() || slices.ContainsFunc(c.Invocations, func(i *Invocation) bool { return i.Killed.Came() || !i.arrived() }) ||
		slices.ContainsFunc(c.Processes, func(p *Process) bool { return p.Killed.Came() || !p.clean() }) {
		return
	}
	// A message whose visibility ends while its handler is at work may be sent
	// there by it, and by anyone who receives it next or by SQS itself.
	twice := map[string]bool{}
	for _, m := range c.ordered {
		twice[m.sent.Body] = twice[m.sent.Body] || m.gone.Kind == sqs.Redriven
	}
	for _, e := range c.Events {
		if m := c.messages[e.MessageID]; m != nil && e.Kind == sqs.Returned && slices.ContainsFunc(c.Invocations, func(i *Invocation) bool {
			return i.Began.Before(e.Moment) && e.Before(i.Answered) &&
				slices.ContainsFunc(i.Records, func(r lambda.Record) bool { return r.MessageID == m.id })
		}) {
			twice[m.sent.Body] = true
		}
	}
	count := map[string]int{}
	for _, d := range c.Dead {
		if count[d.Body]++; count[d.Body] == 2 && !twice[d.Body] {
			c.violated(Single, c.last(), "a message is in dead-letter queues twice: %q", d.Body)
		}
	}
}

// maxAttributes is how many attributes a message can have.
const maxAttributes = 10

// explained: Explained.
func (c *checker) explained() {
	for _, m := range c.ordered {
		d := c.deliveries[m.gone.ReceiptHandle]
		if d == nil || d.outcome == nil || d.outcome.Outcome != batch.DeadLettered || m.plan.Attributes >= maxAttributes {
			continue
		}
		if !slices.ContainsFunc(c.Dead, func(dead DeadMessage) bool { return dead.Body == m.sent.Body && dead.Origin == m.sent.MessageID }) {
			c.violated(Explained, m.gone.Moment, "%v is a dead letter without its id in the attribute %s", m, partialfailure.OriginAttribute)
		}
	}
}

// repeats reports whether the plan has SQS deliver messages of a queue twice.
func (c *checker) repeats(q Queue) bool {
	return !q.FIFO() && slices.ContainsFunc(c.Plan.Faults, func(f sqs.Fault) bool {
		return f.Kind == sqs.DuplicateDelivery && (f.Queue == "" || f.Queue == q.Name)
	})
}

// handledTwice: Final.
func (c *checker) handledTwice() {
	for _, h := range c.handlings {
		if !h.End.done() || h.Canceled.Came() {
			continue // no success for its process: its context had ended
		}
		m := h.delivery.story
		for _, again := range m.handlings {
			if h.Ended.Before(again.Started) && !c.mayRepeat(m, h, again) {
				c.violated(Final, again.Started, "message %d is handled by process %d, after it succeeded in process %d",
					h.Number, again.Process.Number, h.Process.Number)
			}
		}
	}
}

// mayRepeat reports whether something explains that a success was handled again:
// its process died or was not answered before it could delete the message.
// In the same process nothing does.
func (c *checker) mayRepeat(m *story, success, again *Handling) bool {
	p := success.Process
	if again.Process == p {
		return false
	}
	return p.Killed.Came() || c.repeats(m.queue) || !p.clean("DeleteMessageBatch") || !p.clean("ChangeMessageVisibilityBatch")
}
