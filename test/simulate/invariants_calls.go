package simulate

import (
	"slices"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

// responses: Punctual.
func (c *checker) responses() {
	for _, text := range c.Panicked {
		c.violated(Punctual, c.last(), "Invoke panicked: %s", text)
	}
	for _, i := range c.Invocations {
		settleBy := i.Batch.Times.SettleBy
		switch {
		case i.Killed.Came():
		case i.Ended.Came() && i.Result.Result.Error != nil && i.Result.Result.Error.Type == "Sandbox.Timedout":
			c.violated(Punctual, i.Ended, "invocation %d ran into its timeout", i.Number)
		case i.Answered.Came() && !i.Answered.At.Before(i.Deadline):
			c.violated(Punctual, i.Answered, "invocation %d answered %v after its deadline", i.Number, i.Answered.At.Sub(i.Deadline))
		case i.Answered.Came() && !settleBy.IsZero() && i.Answered.At.After(settleBy):
			c.violated(Punctual, i.Answered, "invocation %d answered %v after it had to be settled", i.Number, i.Answered.At.Sub(settleBy))
		}
	}
}

// attempts: Counted.
func (c *checker) attempts() {
	for _, h := range c.Handlings {
		d := c.deliveries[h.Receipt]
		switch {
		case d == nil:
			c.violated(Counted, h.Started, "message %d is handled by a receipt handle that the queue did not give", h.Number)
		case h.Attempt != d.received.ReceiveCount:
			c.violated(Counted, h.Started, "%v is handled as attempt %d, and is attempt %d", d.story, h.Attempt, d.received.ReceiveCount)
		case d.queue.MaxReceive > 0 && h.Attempt > d.queue.MaxReceive:
			c.violated(Counted, h.Started, "%v is handled as attempt %d of %d", d.story, h.Attempt, d.queue.MaxReceive)
		}
	}
}

// maxVisibility is SQS's limit, of one timeout and of all since the receive.
const maxVisibility = 43_200

// visibilities: Bounded.
func (c *checker) visibilities() {
	for _, i := range c.Invocations {
		for _, call := range i.Calls {
			if call.Operation != "ChangeMessageVisibilityBatch" {
				continue
			}
			for _, e := range call.Entries {
				d := c.deliveries[e.Receipt]
				if d == nil {
					c.violated(Bounded, call.Began, "visibility of a receipt handle that the queue did not give")
					continue
				}
				total := call.Began.At.Add(time.Duration(e.Seconds) * time.Second).Sub(d.received.At)
				if e.Seconds < 0 || e.Seconds > maxVisibility || total > maxVisibility*time.Second {
					c.violated(Bounded, call.Began, "%v shall be hidden for %d s, %v after its receipt", d.story, e.Seconds, total)
				}
			}
		}
	}
}

// tries is how often a call may be made for one: three by the toolkit for
// entries that fail, three by the SDK for calls that do.
const tries = 9

// calls: Frugal.
func (c *checker) calls() {
	for _, i := range c.Invocations {
		count := map[string]int{}
		failed := map[string]int{}
		confirmed := map[string]int{} // visibility changes by receipt handle
		for _, call := range i.Calls {
			if i.Answered.Came() && i.Answered.Before(call.Began) {
				c.violated(Frugal, call.Began, "invocation %d calls %s after its response", i.Number, call.Operation)
			}
			count[call.Operation]++
			if call.Err != "" || !call.Ended.Came() || slices.ContainsFunc(call.Entries, func(e Entry) bool { return !e.OK }) {
				failed[call.Operation]++
			}
			for _, e := range call.Entries {
				if e.OK && call.Operation == "ChangeMessageVisibilityBatch" {
					confirmed[e.Receipt]++
				}
			}
		}
		for receipt, n := range confirmed {
			if n > 1 {
				c.violated(Frugal, i.Began, "invocation %d sets the visibility of message %v %d times", i.Number, c.deliveries[receipt].story, n)
			}
		}
		if i.Killed.Came() || len(i.Results) == 0 {
			continue // what it wanted is not known
		}
		for operation, n := range count {
			least := i.needs(operation)
			if n-failed[operation] > least || n > least*tries {
				c.violated(Frugal, i.Answered, "invocation %d makes %d calls of %s, %d of which failed; %d are enough",
					i.Number, n, operation, failed[operation], least)
			}
		}
	}
}

// lingers is how long a failure waits for others to share its call.
const lingers = 50 * time.Millisecond

// needs is how many calls of an operation a batch may make, were all of them
// answered well: one for ten records, and one for each 50 ms in which some
// failed, since they do not wait for longer.
func (i *Invocation) needs(operation string) int {
	var when []time.Time
	late, done, permanent, retried := 0, 0, 0, 0
	for _, o := range i.Results {
		switch o.Outcome {
		case batch.Succeeded, batch.Dropped, batch.DeadLettered:
			done++
		case batch.NotStarted, batch.Abandoned, batch.Skipped:
			late++
		default:
			when = append(when, o.FailedAt)
		}
		if o.Outcome == batch.DeadLettered {
			permanent++
			when = append(when, o.FailedAt)
		}
		if o.Attempt > 1 {
			retried++
		}
	}
	// Failures of one moment may be split by the end of a wait, by the answer
	// about a dead letter, and by the end of the batch.
	bound := func(n int) int { return min(n, (n+9)/10+2*windows(when)+3) }
	switch operation {
	case "ChangeMessageVisibilityBatch":
		return bound(len(when) + late)
	case "SendMessageBatch":
		return bound(len(when) + late)
	case "DeleteMessageBatch":
		return (done+9)/10 + 1
	case "GetQueueAttributes":
		return min(1, permanent+retried+len(when)+late)
	}
	return 0
}

// windows counts how many waits failures at these times begin.
func windows(when []time.Time) (n int) {
	slices.SortFunc(when, time.Time.Compare)
	var end time.Time
	for _, t := range when {
		if n == 0 || t.After(end) {
			n++
			end = t.Add(lingers)
		}
	}
	return n
}

// end: Drained.
func (c *checker) end() {
	if c.Leaked != "" {
		c.violated(Drained, c.last(), "goroutines are left: %s", c.Leaked)
	}
	if !c.Stuck {
		return
	}
	for _, m := range c.ordered {
		if m.gone.Kind == "" {
			c.violated(Drained, c.last(), "%v is still in its queue, long after everything healed", m)
		}
	}
	if !slices.ContainsFunc(c.ordered, func(m *story) bool { return m.gone.Kind == "" }) {
		c.violated(Drained, c.last(), "invocations go on although the queues are empty")
	}
}
