package simulate

import (
	"cmp"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// abortsFor reports whether a handling ended with batch.Abort, and for how long
// then nothing may be started: whole seconds, as SQS counts.
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
		if i.Killed.Came() || !i.Answered.Came() {
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
		set := i.visibilitySet()
		for _, o := range i.Results {
			d, at := c.deliveries[o.Receipt], set[o.Receipt]
			switch {
			case d == nil || o.Outcome != batch.NotStarted:
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

// putOffFor is for how long at most an abort puts a record off that was not started: for
// its time, or as a failure would be where that is longer.
func (c *checker) putOffFor(d *delivery, after time.Duration) time.Duration {
	if after == 0 {
		return 0
	}
	backs := time.Second
	switch b := backoff(d.function.Backoff, c.Plan.Seed); {
	case d.function.Backoff == "outage":
		outage := cmp.Or(d.function.Outage, partialfailure.Config{}.WithDefaults().Outage)
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
		d := c.deliveries[o.Receipt]
		if d == nil || len(d.handlings) == 0 || o.Outcome != batch.Retry && o.Outcome != batch.DeadLettered {
			continue
		}
		h := d.handlings[0]
		if givenUp := h.Allowed.Add(cmp.Or(d.function.Grace, time.Second)); !h.Ended.Before(i.Answered) || h.Ended.At.After(givenUp) {
			continue // it was abandoned, and dead-lettered
		}
		if _, ok := h.abortsFor(); ok {
			list = append(list, d.handlings[0])
		}
	}
	return list
}

// startsAfter: what ran goes on, and nothing else begins.
func (c *checker) startsAfter(i *Invocation, list []*Handling) {
	for _, abort := range list {
		for _, h := range c.Handlings {
			if h.Invocation == i && !h.Told && h.Started.At.After(abort.Ended.At) && !c.Blocked[h.Receipt] {
				c.violated(Heeded, h.Started, "message %d is started %v after message %d has aborted invocation %d",
					h.Number, h.Started.At.Sub(abort.Ended.At), abort.Number, i.Number)
			}
		}
	}
}

func isFIFO(queue string) bool { return Queue{Name: queue}.FIFO() }
