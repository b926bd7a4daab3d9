package simulate

import (
	"slices"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/idempotency"
)

// keys: WorkKept, WorkOnce, WorkAlone and Blameless, of both modes.
func (c *checker) keys() {
	tasks, calls := map[string][]*Task{}, map[string][]*StoreCall{}
	for _, t := range c.Tasks {
		tasks[t.Key] = append(tasks[t.Key], t)
	}
	for _, call := range c.StoreCalls {
		calls[call.Key] = append(calls[call.Key], call)
	}
	for _, h := range c.handlings {
		if d := h.delivery; d.function.Guard.On {
			c.wasWorkedOn(d, h, tasks[c.Plan.keyOf(d.plan)])
			c.blameless(d, h, calls[c.Plan.keyOf(d.plan)])
		}
	}
	for key, list := range tasks {
		c.once(key, list, calls[key])
		c.apart(key, list)
		for _, t := range list {
			c.renewals(t, calls[key])
		}
	}
	for _, m := range c.ordered {
		if m.function.Guard.On && m.gone.Came() {
			c.waitedToTheEnd(m)
		}
	}
}

// wasWorkedOn: WorkKept.
func (c *checker) wasWorkedOn(d *delivery, h *Handling, tasks []*Task) {
	switch h.End {
	case Succeeded:
		if !slices.ContainsFunc(tasks, func(t *Task) bool { return t.Handling == h && t.End == Succeeded }) {
			c.violated(WorkKept, h.Ended, "%v succeeded, and its function was not called or failed", d.story)
		}
	case Repeated:
		if !slices.ContainsFunc(tasks, func(t *Task) bool { return t.Ended.Before(h.Ended) && c.finishes(t, d) }) {
			c.violated(WorkKept, h.Ended, "%v is a duplicate, and nothing with its key was done", d.story)
		}
	}
}

// finishes reports whether a task leaves nothing to do for a delivery with its key. What
// failed for good and is kept does so for others: the message itself must not be deleted
// unless it is a dead letter.
func (c *checker) finishes(t *Task, d *delivery) bool {
	return t.End == Succeeded || t.End == ForGood && d.function.Guard.KeepPermanent && t.MessageID != d.id
}

// once: WorkOnce.
func (c *checker) once(key string, tasks []*Task, calls []*StoreCall) {
	var completed *StoreCall
	for _, call := range calls {
		switch {
		case call.Operation != "Complete" || call.Refusal != nil || !call.Done.Came():
		case completed == nil:
			completed = call
		case call.Owner != completed.Owner:
			c.violated(WorkOnce, call.Done, "%s is completed once more, %v after the first time", key, call.Done.At.Sub(completed.Done.At))
		case call.Done.Before(completed.Done):
			completed = call
		}
	}
	for _, t := range tasks {
		if completed != nil && completed.Done.Before(t.Started) {
			c.violated(WorkOnce, t.Started, "message %d is worked on, %v after %s was completed", t.Number, t.Started.At.Sub(completed.Done.At), key)
		}
	}
}

// apart: WorkAlone.
func (c *checker) apart(key string, tasks []*Task) {
	for k, before := range tasks {
		over := before.over()
		for _, next := range tasks[k+1:] {
			if !over.Came() || next.Started.At.Before(over.At) {
				c.violated(WorkAlone, next.Started, "message %d is worked on while message %d with its key %s is", next.Number, before.Number, key)
			}
		}
	}
}

// renewals: Frugal. A claim is renewed after a third of its lease, and more often only when that fails.
func (c *checker) renewals(t *Task, calls []*StoreCall) {
	n := 0
	for _, call := range calls {
		if call.Operation == "Renew" && call.Receipt == t.Receipt && call.Ended.Came() && call.Err == nil {
			n++
		}
	}
	end := t.over()
	if !end.Came() {
		return
	}
	if took := end.At.Sub(t.Started.At); n > 1+int(took/(time.Second/4)) {
		c.violated(Frugal, t.Started, "the claim of message %d is renewed %d times in %v", t.Number, n, took)
	}
}

// blameless: Blameless. A record that found its key in progress was not worked on, and did not fail.
func (c *checker) blameless(d *delivery, h *Handling, calls []*StoreCall) {
	var last *StoreCall
	for _, call := range calls {
		if call.Operation == "Claim" && call.Receipt == h.Receipt {
			last = call
		}
	}
	if last == nil || last.Err != nil || !last.Ended.Came() || last.State != idempotency.InProgress || !h.Ended.Came() {
		return
	}
	if h.End != Waited && (h.Process == nil || !h.cutOff()) { // a stop may end it while it asks again
		c.violated(Blameless, h.Ended, "%v was in progress elsewhere, and %s", d.story, h.End)
	}
}

// waitedToTheEnd: Blameless. A message of which only others with its key were worked on
// is no dead letter before it has used its own time at its last attempt.
func (c *checker) waitedToTheEnd(m *story) {
	d := m.lastDelivery()
	switch {
	case d == nil || d.handling == nil || m.function.OnPermanent == "retry" || m.function.SlowHook != "":
		return
	case m.gone.Kind != sqs.Redriven && (d.outcome == nil || d.outcome.Outcome != batch.DeadLettered):
		return
	case d.received.ReceiveCount < m.function.MaxReceiveCount: // it is said to have more than its queue gives
		return
	case m.function.MaxReceiveCount == 0 && (!c.says(d) || d.received.ReceiveCount == 1), !c.calm(d):
		return // it may not be known that the attempt is the last
	}
	h := d.handling
	left := h.Allowed.Sub(h.Ended.At)
	if h.End == Waited && !h.Canceled.Came() && left > time.Second+2*c.Plan.StoreTakes && !c.storeFailed(h.Receipt) {
		c.violated(Blameless, h.Ended, "%v was in progress elsewhere at its last attempt, gave up %v before its time was over, and is a dead letter", m, left)
	}
}

// storeFailed reports whether a call to the store about a delivery was not answered well.
func (c *checker) storeFailed(receipt string) bool {
	return slices.ContainsFunc(c.StoreCalls, func(call *StoreCall) bool {
		return call.Receipt == receipt && (call.Struck != "" || call.Err != nil || !call.Ended.Came())
	})
}
