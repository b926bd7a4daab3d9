package simulate

import (
	"slices"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// endedBefore reports whether a handler of the delivery's message ended in a way
// before a moment.
func (c *checker) endedBefore(d *delivery, as func(End) bool, before Moment) bool {
	return slices.ContainsFunc(c.Handlings, func(h *Handling) bool {
		return h.MessageID == d.id && as(h.End) && h.Ended.Before(before)
	})
}

// counts reports whether a handling is a success for its process: it returned nil
// before its context ended.
func (h *Handling) counts() bool { return h.End.done() && !h.Canceled.Came() }

// repeats reports whether the plan has SQS deliver messages of a queue twice.
func (c *checker) repeats(q Queue) bool {
	return !q.FIFO() && slices.ContainsFunc(c.Plan.Faults, func(f sqs.Fault) bool {
		return f.Kind == sqs.DuplicateDelivery && (f.Queue == "" || f.Queue == q.Name)
	})
}

// handledTwice: Final.
func (c *checker) handledTwice() {
	for _, h := range c.Handlings {
		if !h.counts() {
			continue
		}
		for _, again := range c.Handlings {
			if again.MessageID == h.MessageID && h.Ended.Before(again.Started) && !c.mayRepeat(h, again) {
				c.violated(Final, again.Started, "message %d is handled by process %d, after it succeeded in process %d",
					h.Number, again.Process.Number, h.Process.Number)
			}
		}
	}
}

// mayRepeat reports whether something explains that a success was handled again:
// its process died or was not answered before it could delete the message.
// In the same process nothing does.
func (c *checker) mayRepeat(success, again *Handling) bool {
	p := success.Process
	if again.Process == p {
		return false
	}
	m := c.messages[success.MessageID]
	return p.Killed.Came() || m == nil || c.repeats(m.queue) || !p.clean("DeleteMessageBatch") || !p.clean("ChangeMessageVisibilityBatch")
}

// hidden: Hidden.
func (c *checker) hidden() {
	for _, h := range c.Handlings {
		d := c.deliveries[h.Receipt]
		if d == nil || c.repeats(d.queue) || !h.Process.clean("ChangeMessageVisibilityBatch") {
			continue
		}
		over := h.overIn()
		for _, e := range c.Events {
			shown := e.Kind == sqs.Returned || e.Kind == sqs.Received || e.Kind == sqs.Visibility && e.Visibility == 0
			if e.MessageID == d.id && shown && h.Started.Before(e.Moment) && e.At.Before(over.At) {
				c.violated(Hidden, e.Moment, "%v is handled by process %d from %s to %s, and others can receive it",
					d.story, h.Process.Number, since(c.Began, h.Started.At), since(c.Began, over.At))
				break
			}
		}
	}
}

// pollOutcomes: Once.
func (c *checker) pollOutcomes() {
	for _, d := range c.deliveries {
		if len(d.handlings) > 1 {
			c.violated(Once, d.handlings[1].Started, "one delivery of %v is handled %d times", d.story, len(d.handlings))
		}
	}
	for _, p := range c.Processes {
		told := map[string]int{}
		for _, o := range p.Results {
			if told[o.Receipt]++; told[o.Receipt] > 1 {
				c.violated(Once, p.gone(), "process %d tells the outcome of a delivery of message %d twice", p.Number, c.number(o.MessageID))
			}
			if n := p.Finished[o.Receipt]; n > 1 {
				c.violated(Once, p.gone(), "RecordFinished was called %d times for one delivery of message %d", n, c.number(o.MessageID))
			}
			h := c.handlingIn(p, o.MessageID)
			if late := o.Outcome == batch.Retry && c.function(p).SlowHook != ""; !late && !c.agrees(o, h) {
				c.violated(Once, p.gone(), "message %d is %v in process %d, but its handler did not end so", c.number(o.MessageID), o.Outcome, p.Number)
			}
		}
		if p.Killed.Came() || !p.Returned.Came() || !p.clean() {
			continue // a stop does not wait forever until SQS answers
		}
		for _, h := range c.Handlings {
			if h.Process == p && !slices.ContainsFunc(p.Results, func(o Outcome) bool { return o.MessageID == h.MessageID }) {
				c.violated(Once, p.Returned, "process %d handled message %d, and told no outcome", p.Number, h.Number)
			}
		}
	}
}

func (c *checker) number(id string) int {
	if m := c.messages[id]; m != nil {
		return m.plan.Number
	}
	return -1
}

// handlingIn are the handlings of a message by a process.
func (c *checker) handlingIn(p *Process, id string) (list []*Handling) {
	for _, h := range c.Handlings {
		if h.Process == p && h.MessageID == id {
			list = append(list, h)
		}
	}
	return list
}

// heldUp reports whether a hook kept a handler of a message from being called.
func (c *checker) heldUp(id string) bool {
	for _, d := range c.deliveries {
		if d.id == id && c.Blocked[d.received.ReceiptHandle] {
			return true
		}
	}
	return false
}

// agrees reports whether an outcome is one that a handling can have had. (A
// receipt handle does not tell which: a delivery that comes again while the
// first is handled is settled by the later handle.)
func (c *checker) agrees(o Outcome, list []*Handling) bool {
	ended := func(ends ...End) bool {
		return slices.ContainsFunc(list, func(h *Handling) bool { return slices.Contains(ends, h.End) })
	}
	switch o.Outcome {
	case batch.Succeeded:
		return ended(Succeeded)
	case batch.Duplicate:
		return ended(Repeated)
	case batch.Expired:
		return ended(Ended)
	case batch.InProgress:
		return ended(Waited)
	case batch.DeadLettered:
		return c.heldUp(o.MessageID) || ended(ForGood) || slices.ContainsFunc(list, func(h *Handling) bool { return c.messages[h.MessageID].failsLast(h) })
	case batch.Dropped:
		return ended(ForGood)
	case batch.Retry:
		return o.Lost || ended(Failed, ForGood, Panicked, Exited)
	case batch.Abandoned:
		return len(list) > 0 || c.heldUp(o.MessageID)
	case batch.Skipped, batch.NotStarted:
		return !slices.ContainsFunc(list, func(h *Handling) bool { return h.Receipt == o.Receipt })
	}
	return false
}
