package simulate

import (
	"errors"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

// abortsFor tells whether a handling ended with batch.Abort, and for how long
// then nothing shall be started: whole seconds, as SQS counts.
func (h *Handling) abortsFor() (after time.Duration, ok bool) {
	var abort *batch.AbortError
	if !errors.As(h.Err, &abort) {
		return 0, false
	}
	return (min(abort.After, maxVisibility) + time.Second - 1).Truncate(time.Second), true
}

// longest is what is longer than SQS takes when some of its 12 hours are over.
const longest = 11 * time.Hour

// aborts: Heeded, of invocations.
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
			case by == nil || !at.set || !o.VisibilitySet || i.heldTwice(o.MessageID) || after > longest:
			case at.appears.Before(by.Ended.At.Add(after)):
				c.violated(Heeded, i.Answered, "%v was not started for an abort of %v, and appears %v after that", d.story, after, at.appears.Sub(by.Ended.At))
			case at.appears.After(i.Answered.At.Add(after + time.Second)):
				c.violated(Heeded, i.Answered, "%v was not started for an abort of %v, and appears %v after the response", d.story, after, at.appears.Sub(i.Answered.At))
			}
		}
	}
}

// abortsIn are the aborts that an invocation has taken note of.
func (c *checker) abortsIn(i *Invocation) (list []*Handling) {
	for _, o := range i.Results {
		d := c.deliveries[o.Receipt]
		if d == nil || len(d.handlings) == 0 || o.Outcome != batch.Retry && o.Outcome != batch.DeadLettered {
			continue
		}
		if _, ok := d.handlings[0].abortsFor(); ok {
			list = append(list, d.handlings[0])
		}
	}
	return list
}

// startsAfter: what ran goes on, and nothing else begins.
func (c *checker) startsAfter(i *Invocation, list []*Handling) {
	for _, abort := range list {
		for _, h := range c.Handlings {
			if h.Invocation == i && !h.Told && h.Started.At.After(abort.Ended.At) {
				c.violated(Heeded, h.Started, "message %d is started %v after message %d has aborted invocation %d",
					h.Number, h.Started.At.Sub(abort.Ended.At), abort.Number, i.Number)
			}
		}
	}
}

func isFIFO(queue string) bool { return Queue{Name: queue}.FIFO() }
