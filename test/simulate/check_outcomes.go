package simulate

import (
	"encoding/json"
	"slices"

	"github.com/sqsbatch/sqsbatch/batch"
)

// handledOnce: Once, of both modes.
func (c *checker) handledOnce() {
	for _, d := range c.deliveries {
		if d.handled > 1 {
			c.violated(Once, d.handling.Started, "one delivery of %v is handled %d times", d.story, d.handled)
		}
	}
}

// outcomes: Once.
func (c *checker) outcomes() {
	for _, i := range c.Invocations {
		if i.Killed.Came() || !i.Answered.Came() {
			continue
		}
		if len(i.Results) == 0 && c.Plan.Functions[i.Function].slowEnd() {
			continue // its hooks were not waited for
		}
		if len(i.Results) != len(i.Records) {
			c.violated(Once, i.Answered, "invocation %d has %d records and %d results", i.Number, len(i.Records), len(i.Results))
			continue
		}
		counts := map[string]int64{}
		for k, o := range i.Results {
			counts[countNames[o.Outcome]]++
			if o.Receipt != i.Records[k].ReceiptHandle {
				c.violated(Once, i.Answered, "result %d of invocation %d is of another record", k, i.Number)
				continue
			}
			c.outcome(i, o)
		}
		counts["records"] = int64(len(i.Records))
		for name, n := range counts {
			if i.Logged[name] != n {
				c.violated(Once, i.Answered, "the log of invocation %d says %s: %d, it had %d", i.Number, name, i.Logged[name], n)
			}
		}
		c.response(i)
	}
}

// countNames are the names of counts in the log's line about a batch.
var countNames = map[batch.Outcome]string{
	batch.Pending: "pending", batch.Succeeded: "succeeded", batch.Retry: "retry", batch.DeadLettered: "deadLetter",
	batch.Duplicate: "duplicate", batch.Expired: "expired", batch.InProgress: "inProgress", batch.Dropped: "dropped", batch.NotStarted: "notStarted", batch.Skipped: "skipped", batch.Abandoned: "abandoned",
}

// endOfOutcome is how a handler ends for each outcome that has one way.
var endOfOutcome = map[batch.Outcome]End{batch.Succeeded: Succeeded, batch.Duplicate: Repeated, batch.Expired: Ended, batch.InProgress: Waited, batch.Dropped: ForGood}

// outcome compares what the toolkit says of a record with what its handler did.
func (c *checker) outcome(i *Invocation, o Outcome) {
	d := o.delivery
	end, handled := End(""), d.handling != nil
	if handled {
		if h := d.handling; h.Ended.Before(i.Answered) {
			end = h.End
		}
	}
	only, ok := endOfOutcome[o.Outcome]
	ok = ok && end == only
	switch o.Outcome {
	case batch.Retry:
		ok = handled && !end.done() && end != Waited && end != "" || !handled && d.function.SlowHook != "" // its time was over when that was to begin
	case batch.DeadLettered:
		ok = (end == ForGood || handled && d.story.failsLast(d.handling)) && c.sentDead(d, i.Answered) || c.heldAtLast(d.story, i.Answered)
	case batch.Dropped:
		ok = ok && d.function.OnPermanent == "drop"
	case batch.NotStarted:
		ok = !handled && !c.groupFailed(i, d, false)
	case batch.Skipped:
		ok = !handled && d.queue.FIFO() && c.groupFailed(i, d, true)
	case batch.Abandoned:
		ok = handled && (end == "" || !c.inTime(d.handling)) && !i.Answered.At.Before(d.handling.Allowed) ||
			!handled && c.Blocked[o.Receipt]
	}
	if !ok {
		c.violated(Once, i.Answered, "%v is %v in invocation %d, but its handler %s", d.story, o.Outcome, i.Number, said(handled, end))
	}
	told := i.Finished[o.Receipt]
	switch {
	case o.Outcome == batch.NotStarted && told != 0, told > 1:
		c.violated(Once, i.Answered, "RecordFinished was called %d times for %v, which is %v", told, d.story, o.Outcome)
	case o.Outcome != batch.NotStarted && told == 0 && d.function.SlowHook == "":
		c.violated(Once, i.Answered, "RecordFinished was not called for %v, which is %v", d.story, o.Outcome)
	}
}

func said(handled bool, end End) string {
	switch {
	case !handled:
		return "was not called"
	case end == "":
		return "had not returned"
	}
	return string(end)
}

// response compares the response with the outcomes.
func (c *checker) response(i *Invocation) {
	var want []string
	done := 0
	for _, o := range i.Results {
		if o.Outcome.Done() {
			done++
		} else if !slices.Contains(want, o.MessageID) {
			want = append(want, o.MessageID)
		}
		if o.Outcome == batch.InProgress { // no failure of the function
			done++
		}
	}
	f := c.Plan.Functions[i.Function]
	asError := len(want) > 0 && (f.DeleteSucceeded || f.ErrorIfAllFail && done == 0)
	if asError != (i.Err != nil) {
		c.violated(Once, i.Answered, "invocation %d: %d records failed, and the error is %v", i.Number, len(want), i.Err)
	}
	if i.Err != nil {
		return
	}
	var response struct {
		BatchItemFailures []struct{ ItemIdentifier string }
	}
	if err := json.Unmarshal(i.Response, &response); err != nil {
		c.violated(Once, i.Answered, "invocation %d: its response %q: %v", i.Number, i.Response, err)
		return
	}
	var got []string
	for _, f := range response.BatchItemFailures {
		got = append(got, f.ItemIdentifier)
	}
	if !slices.Equal(got, want) {
		c.violated(Once, i.Answered, "invocation %d reports %d failures where it had %d, or in another order", i.Number, len(got), len(want))
	}
}

// groupFailed reports whether a record of the same FIFO group failed before d in
// its batch, so that d is skipped. One that was dead-lettered or dropped may have
// been buried: then the group went on.
func (c *checker) groupFailed(i *Invocation, d *delivery, orBuried bool) bool {
	for _, o := range i.Results {
		before := o.delivery
		switch {
		case before == d:
			return false
		case !d.queue.FIFO() || before.sent.MessageGroupID != d.sent.MessageGroupID:
		case orBuried && !o.Outcome.OK() && o.Outcome.Done():
			return true
		case !o.Outcome.Done() && o.Outcome != batch.NotStarted:
			return true
		}
	}
	return false
}

// pollOutcomes: Once.
func (c *checker) pollOutcomes() {
	for _, p := range c.Processes {
		told := map[string]int{}
		for _, o := range p.Results {
			if told[o.Receipt]++; told[o.Receipt] > 1 {
				c.violated(Once, p.gone(), "process %d tells the outcome of a delivery of %v twice", p.Number, o.delivery.story)
			}
			if n := p.Finished[o.Receipt]; n > 1 {
				c.violated(Once, p.gone(), "RecordFinished was called %d times for one delivery of %v", n, o.delivery.story)
			}
			if late := o.Outcome == batch.Retry && c.function(p).SlowHook != ""; !late && !c.agrees(p, o) {
				c.violated(Once, p.gone(), "%v is %v in process %d, but its handler did not end so", o.delivery.story, o.Outcome, p.Number)
			}
		}
		if p.Killed.Came() || !p.Returned.Came() || !p.clean() {
			continue // a stop does not wait forever until SQS answers
		}
		if c.function(p).SlowHook == "BatchSettled" {
			continue // nor until the hook has returned, which is then called for the others
		}
		for _, h := range p.handlings {
			if !slices.ContainsFunc(p.Results, func(o Outcome) bool { return o.MessageID == h.MessageID }) {
				c.violated(Once, p.Returned, "process %d handled message %d, and told no outcome", p.Number, h.Number)
			}
		}
	}
}

// agrees reports whether an outcome is one that a handling by a process can have had. (A
// receipt handle does not tell which: a delivery that comes again while the first is
// handled is settled by the later handle.)
func (c *checker) agrees(p *Process, o Outcome) bool {
	m := o.delivery.story
	some := func(is func(*Handling) bool) bool {
		return slices.ContainsFunc(m.handlings, func(h *Handling) bool { return h.Process == p && is(h) })
	}
	ended := func(ends ...End) bool {
		return some(func(h *Handling) bool { return slices.Contains(ends, h.End) })
	}
	// A hook kept a handler from being called.
	heldUp := slices.ContainsFunc(m.deliveries, func(d *delivery) bool { return c.Blocked[d.received.ReceiptHandle] })
	switch o.Outcome {
	case batch.DeadLettered:
		return heldUp || ended(ForGood) || some(m.failsLast)
	case batch.Retry:
		return o.Lost || ended(Failed, ForGood, Panicked, Exited)
	case batch.Abandoned:
		return heldUp || some(func(*Handling) bool { return true })
	case batch.Skipped, batch.NotStarted:
		return !some(func(h *Handling) bool { return h.Receipt == o.Receipt })
	}
	only, known := endOfOutcome[o.Outcome]
	return known && ended(only)
}
