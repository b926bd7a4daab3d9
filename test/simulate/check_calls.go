package simulate

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
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
	for _, h := range c.handlings {
		d := h.delivery
		switch {
		case h.Attempt != d.received.ReceiveCount:
			c.violated(Counted, h.Started, "%v is handled as attempt %d, and is attempt %d", d.story, h.Attempt, d.received.ReceiveCount)
		case d.queue.MaxReceive > 0 && h.Attempt > d.queue.MaxReceive:
			c.violated(Counted, h.Started, "%v is handled as attempt %d of %d", d.story, h.Attempt, d.queue.MaxReceive)
		}
	}
}

// tries squared is how often at most the toolkit makes a call within a second that fails, or entries of it.
const tries = 3

// inHalves is how many calls it takes at most when ten entries are refused down to single ones.
const inHalves = 19

// tally counts an invocation's calls of an operation.
type tally struct {
	made, failed, partly int // failed as a whole, or some of the entries
	parts                int // in how many calls each may be made
}

func (t *tally) add(call *Call) {
	t.made++
	if call.refusedWhole() {
		t.parts = inHalves
	}
	switch {
	case call.Err != "" || !call.Ended.Came():
		if t.failed++; t.failed >= 8 {
			t.parts = 10 // then each entry is tried alone
		}
	case !call.clean():
		t.partly++
	}
}

// calls: Frugal.
func (c *checker) calls() {
	for _, i := range c.Invocations {
		by := map[string]*tally{} // operations
		for _, call := range i.Calls {
			// At the very end of settling a call may just begin as it is given up.
			cut := !i.Answered.At.Before(c.settleBy(i)) && same(call.Began.At, i.Answered.At)
			if i.Answered.Came() && i.Answered.Before(call.Began) && !cut {
				c.violated(Frugal, call.Began, "invocation %d calls %s after its response", i.Number, call.Operation)
			}
			if by[call.Operation] == nil {
				by[call.Operation] = &tally{parts: 1}
			}
			by[call.Operation].add(call)
		}
		for _, r := range i.Records {
			d := c.deliveries[r.ReceiptHandle]
			enough := 1
			if i.apart() > 0 && (d.received.ReceiveCount > 1 || d.queue.FIFO()) {
				enough = 2
			}
			if n := d.confirmed(func(entry) bool { return true }); n > enough {
				c.violated(Frugal, i.Began, "invocation %d sets the visibility of %v %d times", i.Number, d.story, n)
			}
		}
		if i.Killed.Came() || len(i.Results) == 0 {
			continue // what it wanted is not known
		}
		for operation, n := range by {
			enough := c.needs(i, operation) * n.parts
			if operation == "ChangeMessageVisibilityBatch" {
				enough += i.apart() * n.parts
			}
			if sent := by["SendMessageBatch"]; operation == "ChangeMessageVisibilityBatch" && sent != nil && sent.failed > 0 {
				enough += 10 // each that could not be sent comes back by itself
			}
			again := tries*tries + int(i.Answered.At.Sub(i.Began.At)/time.Second) // a call that fails is made again, less and less often
			if n.made-n.failed-n.partly > enough || n.partly > enough*again || n.made > enough*again {
				c.violated(Frugal, i.Answered, "invocation %d makes %d calls of %s, of which %d failed and %d did in part; %d are enough",
					i.Number, n.made, operation, n.failed, n.partly, enough)
			}
		}
	}
}

// apart is how many calls may keep records apart that come back together, before the handlers start.
func (i *Invocation) apart() int {
	back := 0
	for _, r := range i.Records {
		if r.Attempt > 1 {
			back++
		}
	}
	if back < 2 {
		return 0
	}
	return (back + 9) / 10
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
		d := o.delivery
		forGood := d.ended(End.forGood, i.Answered)
		if forGood || o.Outcome == batch.Retry && d.plan.Malformed {
			dead++
		}
		if d.queue.FIFO() && (c.endedLast(d, i.Answered) || forGood || c.Blocked[o.Receipt]) {
			buried++ // with a call of its own
		}
		atLast := (isFIFO(i.Queue) || c.Plan.Functions[i.Function].Guard.On) && o.Outcome != batch.Succeeded // it is asked whether it was
		outlives := c.Plan.Functions[i.Function].Backoff == "outage" || o.Outcome == batch.Abandoned         // by what the queue says
		if o.Attempt > 1 || d.function.MaxReceiveCount == 1 || !o.Outcome.Done() && outlives || atLast {
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

// waitsForPolicy reports whether an invocation waited until its queue said which attempt is the
// last. Invocations of one process may wait for the question of one of them.
func (c *checker) waitsForPolicy(i *Invocation) bool {
	return slices.ContainsFunc(c.Invocations, func(other *Invocation) bool {
		return other.Function == i.Function && other.Environment == i.Environment && other.Queue == i.Queue && other.Began.At.Before(i.Answered.At) && !other.Answered.At.Before(i.Began.At) &&
			slices.ContainsFunc(other.Calls, func(call *Call) bool {
				return call.Operation == "GetQueueAttributes" && (!call.clean() || !same(call.Ended.At, call.Began.At))
			})
	})
}

// windows counts how many waits failures at these times begin.
func windows(when []time.Time) (n int) {
	slices.SortFunc(when, time.Time.Compare)
	var end time.Time
	for _, t := range when {
		if n == 0 || end.Sub(t) <= anInstant {
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

// failing is how many receives may follow on one that fails, and fail as well,
// within a second: after 0.2, 0.4, 0.8 s and so on, or half of that.
const failing = 4

// receives: Frugal.
func (c *checker) receives() {
	for _, p := range c.Processes {
		var open []span
		full, short := 0, 0
		first := true
		for _, call := range p.Calls {
			if p.Returned.Before(call.Began) {
				c.violated(Frugal, call.Began, "process %d calls %s after Run has returned", p.Number, call.Operation)
			}
			if call.Operation != "ReceiveMessage" {
				continue
			}
			took := call.Ended.At.Sub(call.Began.At)
			switch {
			case call.Most < 1 || call.Most > 10:
				c.violated(Frugal, call.Began, "process %d asks for %d messages", p.Number, call.Most)
			case call.Wait == p.Limits.Wait:
			case call.Wait == 0 && (first || p.troubled(call)): // it tells at once whether the queue can be used
			case short == 0 || call.Wait < time.Second:
				c.violated(Frugal, call.Began, "process %d asks SQS to wait for %v, not %v", p.Number, call.Wait, p.Limits.Wait)
			}
			first = false
			end := call.Ended.At
			if !call.Ended.Came() {
				end = p.gone().At
			}
			open = append(open, span{call.Began.At, end})
			switch {
			case call.Err != "" && !call.GivenUp:
				if took > time.Second && took < call.Wait {
					short++ // as if something between here and SQS had cut it
				}
			case len(call.Got) == call.Most:
				full++
			}
		}
		if n, at := most(open); n > 1+full+len(p.Paused) {
			c.violated(Frugal, Moment{At: at}, "process %d has %d receives open, of which %d came back full", p.Number, n, full)
		}
	}
}

// hurries: Frugal. Receives that fail become rarer.
func (c *checker) hurries() {
	for _, p := range c.Processes {
		var answered []*Call
		for _, call := range p.Calls {
			if call.Operation == "ReceiveMessage" && call.Ended.Came() && !call.GivenUp {
				answered = append(answered, call)
			}
		}
		slices.SortFunc(answered, func(a, b *Call) int { return cmp.Compare(a.Ended.Seq, b.Ended.Seq) })
		var failed []*Call // one after another, not side by side
		for _, call := range answered {
			n := len(failed)
			switch {
			case call.Err == "":
				failed = nil
				continue
			case n > 0 && call.Began.Before(failed[n-1].Ended):
				continue
			}
			failed = append(failed, call)
			if k := n - failing - besideSuccess(failed, answered); k >= 0 && call.Began.At.Sub(failed[k].Began.At) < time.Second {
				c.violated(Frugal, call.Began, "process %d receives %d times in %v although it fails", p.Number, failing+1, call.Began.At.Sub(failed[k].Began.At))
			}
		}
	}
}

// besideSuccess counts the calls that succeeded at a moment at which others failed:
// what happened at one moment has no order, and after a success the process tries
// again at once.
func besideSuccess(failed, answered []*Call) (n int) {
	for _, call := range answered {
		if call.Err == "" && slices.ContainsFunc(failed, func(f *Call) bool { return same(f.Ended.At, call.Ended.At) }) {
			n++
		}
	}
	return n
}

// troubled reports whether no receive was answered before a call, or the latest
// one failed, or one of the latest: what happened at one moment has no order.
func (p *Process) troubled(call *Call) bool {
	var latest time.Time
	failed := true
	for _, c := range p.Calls {
		if c.Operation != "ReceiveMessage" || !c.Ended.Before(call.Began) || c.GivenUp || c.Ended.At.Before(latest) {
			continue
		}
		failed = c.Err != "" || failed && same(c.Ended.At, latest)
		latest = c.Ended.At
	}
	return failed
}

// confirmed counts the entries of a kind by which a delivery's visibility was set.
func (d *delivery) confirmed(kind func(entry) bool) (n int) {
	for _, e := range d.set {
		if e.ok && kind(e) {
			n++
		}
	}
	return n
}

// extensions: Frugal.
func (c *checker) extensions() {
	for _, p := range c.Processes {
		for _, d := range p.deliveries {
			n := d.confirmed(func(e entry) bool { return e.hidden > 0 })
			every := max(d.received.Visibility/3-time.Second, time.Second)
			if enough := 2 + int(p.gone().At.Sub(d.got.At)/every); n > enough && d.received.Visibility > 0 {
				c.violated(Frugal, d.got, "process %d sets the visibility of %v %d times in %v", p.Number, d.story, n, p.gone().At.Sub(d.got.At))
			}
		}
	}
}

// pauses: Quiet.
func (c *checker) pauses() {
	for _, p := range c.Processes {
		if c.function(p).slowStart() {
			continue
		}
		for _, pause := range p.Paused {
			for _, h := range p.handlings {
				if h.Started.At.Sub(pause.From.At) > anInstant && h.Started.Before(pause.Until) && !c.groupGoesOn(h.delivery, pause) {
					c.violated(Quiet, h.Started, "process %d starts message %d, %v after it was paused", p.Number, h.Number, h.Started.At.Sub(pause.From.At))
				}
			}
			due := Moment{At: pause.From.At.Add(3 * time.Second)} // 2 of them for receives that are open at a busy queue
			if !p.clean() || p.gone().At.Before(due.At) || !pause.Until.At.After(due.At) || p.Stopping.Came() && p.Stopping.At.Before(due.At) {
				continue
			}
			for _, d := range p.deliveries {
				if d.handling == nil && !d.got.At.After(due.At) && !c.groupGoesOn(d, pause) && c.hiddenAt(d, due).After(due.At.Add(time.Second)) &&
					!c.inGroupThatFailed(d) && !c.heldBefore(d) && !c.putOff(d, c.hiddenAt(d, due)) {
					c.violated(Quiet, pause.From, "process %d holds %v, 3 s after it was paused", p.Number, d.story)
				}
			}
		}
	}
}

// groupGoesOn reports whether a record that came with a delivery, of its group, was handled when the pause began.
func (c *checker) groupGoesOn(d *delivery, pause *Paused) bool {
	return slices.ContainsFunc(d.inGroup(), func(h *Handling) bool {
		return !h.Started.At.After(pause.From.At) && h.delivery.got == d.got
	})
}

// errs: Drained. Run ends with an error only for a reason.
func (c *checker) errs() {
	for _, p := range c.Processes {
		var config *longpoll.ConfigError
		switch {
		case p.Err == nil || p.Killed.Came() || errors.Is(p.Err, longpoll.ErrAbandoned):
		case errors.As(p.Err, &config) && c.Plan.faulty():
		default:
			c.violated(Drained, p.Returned, "process %d ends with %v", p.Number, p.Err)
		}
	}
}

// refusedWhole reports whether a call was refused as a whole that could succeed in parts.
func (c *Call) refusedWhole() bool { return c.Broken.whole() && len(c.Entries) > 1 }

// cleanBut reports whether calls were answered well, except where more than an entry about this delivery was refused.
func cleanBut(calls []*Call, receipt string) bool {
	return !slices.ContainsFunc(calls, func(c *Call) bool {
		of := Entry{Receipt: receipt}
		return !c.clean() && !(c.Broken.whole() && (len(c.Entries) > 1 || !c.Entries[0].same(of)))
	})
}

// same reports whether two entries are about one message.
func (e Entry) same(other Entry) bool { return e.Receipt == other.Receipt && e.Body == other.Body }

// divided: Divided, of both modes. Nothing else is wrong with SQS, and there is time.
func (c *checker) divided() {
	for _, i := range c.Invocations {
		if !i.Killed.Came() && i.Answered.Came() && i.Answered.At.Before(c.settleBy(i)) {
			c.dividedOf(i.Calls, i.Answered.At)
		}
	}
	for _, p := range c.Processes {
		if !p.Killed.Came() && p.Err == nil && p.Stopping.Came() {
			c.dividedOf(p.Calls, p.Stopping.At)
		}
	}
}

func (c *checker) dividedOf(calls []*Call, until time.Time) {
	if slices.ContainsFunc(calls, func(c *Call) bool { return !c.clean() && !c.Broken.whole() }) {
		return
	}
	for k, call := range calls {
		if !call.refusedWhole() || !call.Ended.At.Before(until) {
			continue
		}
		for _, e := range call.Entries {
			if !slices.ContainsFunc(calls[k+1:], func(later *Call) bool {
				return (e.Body == "" || later.Operation == call.Operation) && slices.ContainsFunc(later.Entries, e.same)
			}) {
				c.violated(Divided, call.Ended, "%s was refused for %d entries, and one of them is tried no more", call.Operation, len(call.Entries))
			}
		}
	}
}
