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
		settleBy := c.settleBy(i).Add(time.Millisecond) // an invocation takes a moment to begin
		switch {
		case i.Killed.Came():
		case i.Ended.Came() && i.Result.Result.Error != nil && i.Result.Result.Error.Type == "Sandbox.Timedout":
			c.violated(Punctual, i.Ended, "invocation %d ran into its timeout", i.Number)
		case i.Answered.Came() && !i.Answered.At.Before(i.Deadline):
			c.violated(Punctual, i.Answered, "invocation %d answered %v after its deadline", i.Number, i.Answered.At.Sub(i.Deadline))
		case i.Answered.Came() && i.Answered.At.After(settleBy) && !c.Plan.Functions[i.Function].slowEnd():
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

// tries squared is how often at most the toolkit makes a call within a second that
// fails, or entries of it.
const tries = 3

// inHalves is how many calls it takes at most when ten entries are refused down to single ones.
const inHalves = 19

// calls: Frugal.
func (c *checker) calls() {
	for _, i := range c.Invocations {
		count := map[string]int{}
		failed := map[string]int{}    // as a whole
		parts := map[string]int{}     // in how many calls each may be made
		partly := map[string]int{}    // some of the entries
		confirmed := map[string]int{} // visibility changes by receipt handle
		for _, call := range i.Calls {
			// At the very end of settling a call may just begin as it is given up.
			cut := !i.Answered.At.Before(c.settleBy(i)) && call.Began.At.Equal(i.Answered.At)
			if i.Answered.Came() && i.Answered.Before(call.Began) && !cut {
				c.violated(Frugal, call.Began, "invocation %d calls %s after its response", i.Number, call.Operation)
			}
			count[call.Operation]++
			if parts[call.Operation] = max(parts[call.Operation], 1); call.refusedWhole() {
				parts[call.Operation] = inHalves
			}
			switch {
			case call.Err != "" || !call.Ended.Came():
				if failed[call.Operation]++; failed[call.Operation] >= 8 {
					parts[call.Operation] = 10 // then each entry is tried alone
				}
			case !call.clean():
				partly[call.Operation]++
			}
			for _, e := range call.Entries {
				if e.OK && call.Operation == "ChangeMessageVisibilityBatch" {
					confirmed[e.Receipt]++
				}
			}
		}
		for receipt, n := range confirmed {
			if d := c.deliveries[receipt]; n > 1 && d != nil {
				c.violated(Frugal, i.Began, "invocation %d sets the visibility of %v %d times", i.Number, d.story, n)
			}
		}
		if i.Killed.Came() || len(i.Results) == 0 {
			continue // what it wanted is not known
		}
		for operation, n := range count {
			enough := c.needs(i, operation) * parts[operation]
			if operation == "ChangeMessageVisibilityBatch" && failed["SendMessageBatch"] > 0 {
				enough += 10 // each that could not be sent comes back by itself
			}
			again := tries*tries + int(i.Answered.At.Sub(i.Began.At)/time.Second) // a call that fails is made again, less and less often
			if n-failed[operation]-partly[operation] > enough || partly[operation] > enough*again || n > enough*again {
				c.violated(Frugal, i.Answered, "invocation %d makes %d calls of %s, of which %d failed and %d did in part; %d are enough",
					i.Number, n, operation, failed[operation], partly[operation], enough)
			}
		}
	}
}

// lingers is how long a failure waits for others to share its call.
const lingers = 50 * time.Millisecond

// needs is how many calls of an operation a batch may make, were all of them
// answered well: one for each full ten, and one at the end of each 50 ms that
// began with a failure; what was not started, and what waited for a dead letter
// in its way, comes on top.
func (c *checker) needs(i *Invocation, operation string) int {
	var when []time.Time
	failures, notStarted, done, dead, retried, buried := 0, 0, 0, 0, 0, 0
	for _, o := range i.Results {
		switch o.Outcome {
		case batch.NotStarted:
			notStarted++
		case batch.Skipped:
			failures++ // with the one before it
		case batch.Succeeded, batch.Duplicate, batch.Expired:
			done++
		default:
			when = append(when, o.FailedAt)
			failures++
		}
		if o.Outcome == batch.Dropped || o.Outcome == batch.DeadLettered {
			done++
		}
		if d := c.deliveries[o.Receipt]; d != nil && d.endedAs(ForGood, i.Answered) || o.Outcome == batch.Retry && d.plan.Malformed {
			dead++
		}
		if d := c.deliveries[o.Receipt]; d != nil && d.queue.FIFO() && (c.endedLast(d, i.Answered) || d.endedAs(ForGood, i.Answered) || c.Blocked[o.Receipt]) {
			buried++ // with a call of its own
		}
		atLast := (isFIFO(i.Queue) || c.Plan.Functions[i.Function].Guard.On) && o.Outcome != batch.Succeeded // it is asked whether it was
		outlives := c.Plan.Functions[i.Function].Backoff == "outage" || o.Outcome == batch.Abandoned         // by what the queue says
		if d := c.deliveries[o.Receipt]; o.Attempt > 1 || d != nil && d.function.MaxReceiveCount == 1 || !o.Outcome.Done() && outlives || atLast {
			retried++
		}
	}
	waits := windows(when)
	switch operation {
	case "ChangeMessageVisibilityBatch":
		sent := min(dead, dead/10+waits) + buried // each answer about dead letters may begin a wait of its own
		if c.waitsForPolicy(i) {
			return failures + notStarted // each group's failure waits for its own time
		}
		return min(failures+notStarted, failures/10+waits+sent+(notStarted+9)/10)
	case "SendMessageBatch":
		return min(dead, dead/10+waits) + buried
	case "DeleteMessageBatch":
		return (done+9)/10 + 1
	case "GetQueueAttributes":
		return min(1, dead+retried)
	}
	return 0
}

// waitsForPolicy reports whether an invocation had to wait until its queue said which
// attempt is the last.
func (c *checker) waitsForPolicy(i *Invocation) bool {
	return slices.ContainsFunc(i.Calls, func(call *Call) bool {
		return call.Operation == "GetQueueAttributes" && (!call.clean() || call.Ended.At.After(call.Began.At))
	})
}

// windows counts how many waits failures at these times begin.
func windows(when []time.Time) (n int) {
	slices.SortFunc(when, time.Time.Compare)
	var end time.Time
	for _, t := range when {
		if n == 0 || !t.Before(end) {
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
		if m.gone.Kind == "" && !(m.function.Backoff == "endless" && m.queue.FIFO()) { // a group of such waits for longer than the run
			c.violated(Drained, c.last(), "%v is still in its queue, long after everything healed", m)
		}
	}
	if !slices.ContainsFunc(c.ordered, func(m *story) bool { return m.gone.Kind == "" }) {
		c.violated(Drained, c.last(), "invocations go on although the queues are empty")
	}
}
