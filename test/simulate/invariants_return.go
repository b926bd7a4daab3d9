package simulate

import (
	"slices"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/lambda"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

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
		set := i.visibilitySet()
		stuck := !slices.ContainsFunc(i.Results, func(o Outcome) bool { return o.Outcome != batch.NotStarted })
		for k, o := range i.Results {
			d, at := c.deliveries[o.Receipt], set[o.Receipt]
			if d == nil || !at.set || !o.VisibilitySet || i.heldTwice(o.MessageID) {
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
				with := set[failed.Receipt]
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
	group := c.deliveries[i.Results[skipped].Receipt].sent.MessageGroupID
	for k := skipped - 1; k >= 0; k-- {
		o := i.Results[k]
		d := c.deliveries[o.Receipt]
		if d != nil && d.sent.MessageGroupID == group && o.Outcome != batch.Skipped {
			return o
		}
	}
	return Outcome{}
}

func apart(a, b time.Time) time.Duration { return a.Sub(b).Abs() }

// pollTogether: Together, of processes.
func (c *checker) pollTogether() {
	for _, p := range c.Processes {
		for _, o := range p.Results {
			d := c.deliveries[o.Receipt]
			if d == nil || d.process != p || !o.VisibilitySet || c.repeats(d.queue) || len(d.handlings) > 0 {
				continue
			}
			set, ok := c.lastSet(d)
			until := set.At.Add(set.Visibility)
			if last := p.lastEntry(set.ReceiptHandle); last != nil { // SQS may have taken its time
				until = last.at.At.Add(last.hidden)
			}
			switch {
			case !ok || set.Visibility == 0 || c.cameAgainMeanwhile(d):
			case o.Outcome == batch.NotStarted && !c.putOff(d, until):
				c.violated(Together, set.Moment, "%v was not started by process %d, and is hidden for %v", d.story, p.Number, set.Visibility)
			case o.Outcome == batch.Skipped && p.clean("ChangeMessageVisibilityBatch") && !c.appearsWithFailure(d, set.At.Add(set.Visibility)):
				c.violated(Together, set.Moment, "%v was skipped by process %d, and is hidden for %v, as nothing that failed", d.story, p.Number, set.Visibility)
			}
		}
	}
}

// cameAgainMeanwhile reports whether a process was given a message again that it
// held: then it was given back by the later receipt handle.
func (c *checker) cameAgainMeanwhile(d *delivery) bool {
	for _, later := range c.deliveries {
		if later.story == d.story && later.process == d.process && d.got.Before(later.got) && later.outcome == nil {
			return true
		}
	}
	return false
}

// appearsWithFailure reports whether a failure of a delivery's group is shown
// again at the same time, or does not have to be.
func (c *checker) appearsWithFailure(d *delivery, at time.Time) bool {
	return c.function(d.process).slowStart() || slices.ContainsFunc(c.Handlings, func(h *Handling) bool {
		failed := c.deliveries[h.Receipt]
		if failed == nil || h.Process != d.process || h.Group != d.plan.Group || !h.fails() {
			return false
		}
		set, ok := c.lastSet(failed)
		return !ok || apart(set.At.Add(set.Visibility), at) <= time.Second
	})
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
