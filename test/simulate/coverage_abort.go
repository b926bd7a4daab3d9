package simulate

import (
	"slices"
	"time"
)

// aborts counts what was tried of batch.Abort.
func (c Coverage) aborts(h *checker) {
	for _, g := range h.Handlings {
		after, aborts := g.abortsFor()
		d := h.deliveries[g.Receipt]
		if !aborts || d == nil {
			continue
		}
		c.config("abort", d.queue.FIFO(), "FIFO")
		c.config("abort", !d.queue.FIFO(), "standard")
		c.config("abort", after == 0, "for no time")
		c.config("abort", after > d.received.Visibility, "for longer than the visibility")
		c.config("abort", after > longest, "for longer than SQS hides")
		c.config("abort", d.story.failsLast(g), "at the last delivery of a group's head")
	}
	for _, i := range h.Invocations {
		list := h.abortsIn(i)
		for _, o := range i.Results {
			c.config("abort", o.Aborted, "something was not started")
			c.config("abort", o.Aborted && isFIFO(i.Queue), "something was not started of a FIFO queue")
		}
		c.config("abort", len(list) > 1, "several in one batch")
		c.config("abort", slices.ContainsFunc(h.Handlings, func(g *Handling) bool {
			return g.Invocation == i && slices.ContainsFunc(list, func(a *Handling) bool {
				return g.Started.Before(a.Ended) && g.Ended.At.After(a.Ended.At)
			})
		}), "something goes on")
	}
	for _, p := range h.Processes {
		c.delays(h, p)
	}
}

func (c Coverage) delays(h *checker, p *Process) {
	list := h.delaysOf(p)
	for k, a := range list {
		c.config("abort while polling", a.sure, "it must have an effect")
		c.config("abort while polling", k > 0 && a.from.At.Before(list[k-1].until), "another before it is over")
		c.config("abort while polling", p.Stopping.Came() && p.Stopping.At.After(a.from.At) && p.Stopping.At.Before(a.until), "a stop")
		c.config("abort while polling", slices.ContainsFunc(p.Paused, func(q *Paused) bool {
			return q.From.At.Before(a.until) && a.from.At.Before(q.Until.At)
		}), "a pause")
		c.config("abort while polling", slices.ContainsFunc(p.Calls, func(call *Call) bool {
			return call.Operation == "ReceiveMessage" && call.Began.At.After(a.from.At.Add(time.Second)) && !call.Began.At.Before(a.until)
		}), "it is over and receives go on")
	}
	for _, o := range p.Results {
		c.config("abort while polling", o.Aborted, "something of a group was not started")
	}
	for _, d := range h.deliveries {
		last := p.lastEntry(d.received.ReceiptHandle)
		if len(list) == 0 || d.process != p || last == nil || !h.putOff(d, last.at.At.Add(last.hidden)) {
			continue
		}
		for _, a := range list {
			c.config("abort while polling", d.got.At.Before(a.from.At) && last.at.At.Before(a.until), "something waited")
			c.config("abort while polling", d.got.At.After(a.from.At) && d.got.At.Before(a.until), "an open receive brings something")
		}
	}
}
