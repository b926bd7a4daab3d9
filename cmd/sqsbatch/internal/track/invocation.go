package track

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/lambda"
)

// An invocation has started, and its records are not final yet.
type invocation struct {
	lambda.Invocation
	number  int
	reports map[string]Record // the toolkit's lines, by message id
	settled bool              // the toolkit has logged the batch, its last line
	end     *lambda.Ended     // nil while it runs
	final   time.Time         // end of the grace
}

// Started adds an invocation.
func (t *Tracker) Started(i lambda.Invocation) {
	t.post(func() {
		t.progress.Invocations++
		inv := &invocation{Invocation: i, number: t.progress.Invocations, reports: map[string]Record{}}
		t.invocations[i.RequestID] = inv
		bodies, ids := make([]string, 0, len(i.Records)), make([]string, 0, len(i.Records))
		for _, r := range i.Records {
			bodies, ids = append(bodies, r.Body), append(ids, r.MessageID)
			if m := t.messages[r.MessageID]; m != nil {
				m.inFlight++
				m.held = false
			}
		}
		t.emit(Started{Invocation: inv.number, RequestID: i.RequestID, MessageIDs: ids, Bodies: bodies, ColdStart: i.ColdStart})
	})
}

// Ended ends an invocation. Its records are final after the grace.
func (t *Tracker) Ended(e lambda.Ended) {
	now := time.Now()
	t.post(func() {
		for i, v := range e.Verdicts {
			if v.Err != nil {
				t.emit(Warning{Text: fmt.Sprintf("message %s succeeded but could not be deleted: %v", e.Records[i].MessageID, v.Err)})
			}
		}
		if inv := t.invocations[e.RequestID]; inv != nil {
			inv.end, inv.final = &e, now.Add(grace)
		}
	})
}

// Line handles one line of the function's output.
func (t *Tracker) Line(l lambda.Line) {
	t.post(func() {
		r, ok := parseReport(l.Text)
		inv := t.invocations[cmp.Or(r.RequestID, l.RequestID)]
		log := Log{Stream: l.Stream, Text: l.Text}
		if inv != nil {
			log.Invocation = inv.number
		}
		t.toolkit = t.toolkit || ok
		switch {
		case !ok || r.Message != "record" && r.Message != "batch":
			t.logged(r, ok, log)
		case inv == nil: // too late: the invocation is final
		case r.Message == "record":
			t.report(inv, r)
		default:
			inv.settled = true
		}
	})
}

// report emits a record that the toolkit has logged.
func (t *Tracker) report(inv *invocation, r report) {
	d := inv.record(r.MessageID)
	if d == nil {
		return
	}
	rec := r.record()
	rec.Invocation, rec.RequestID, rec.Body = inv.number, inv.RequestID, d.Body
	rec.Attempt = cmp.Or(rec.Attempt, d.Attempt)
	rec.Age = t.age(rec.MessageID)
	inv.reports[r.MessageID] = rec
	t.emit(rec)
}

func (inv *invocation) record(id string) *lambda.Record {
	for i := range inv.Records {
		if inv.Records[i].MessageID == id {
			return &inv.Records[i]
		}
	}
	return nil
}

// complete returns, in order, the ended invocations whose lines have all come or whose
// grace is over. It does not wait for lines of a function that never logged like the
// toolkit.
func (t *Tracker) complete(now time.Time) []*invocation {
	var out []*invocation
	for _, inv := range t.invocations {
		if inv.end == nil {
			continue
		}
		foreign := !t.toolkit && t.finals > 0
		complete := inv.settled && len(inv.reports) == len(inv.Records)
		if foreign || complete || !inv.final.After(now) {
			out = append(out, inv)
		}
	}
	slices.SortFunc(out, func(a, b *invocation) int { return a.number - b.number })
	return out
}

// finish emits the final outcomes of an ended invocation's records.
func (t *Tracker) finish(inv *invocation) {
	delete(t.invocations, inv.RequestID)
	t.finals++
	result := inv.end.Result
	e := Ended{
		Invocation: inv.number, RequestID: inv.RequestID, Records: len(inv.Records),
		Duration: result.Duration, Timeout: t.o.Timeout, ColdStart: result.ColdStart, Init: result.Init,
	}
	switch failure := result.Error; {
	case failure == nil:
		e.AllFailed = inv.end.AllFailed
	case failure.Type == "Sandbox.Closed":
		e.Error = "stopped before it answered"
	default:
		e.Error = failure.Error()
	}
	for i, d := range inv.Records {
		m := t.messages[d.MessageID]
		if m == nil { // not counted: sent before the tracker started
			m = &message{id: d.MessageID, body: d.Body, settled: true}
		}
		m.inFlight = max(0, m.inFlight-1)
		r := inv.outcome(d, m, !inv.end.Verdicts[i].Deleted, cmp.Or(e.Error, e.AllFailed))
		if r.Done() {
			e.Deleted++
		} else {
			e.Back++
		}
		t.final(m, r)
	}
	t.emit(e)
}

// outcome returns the final outcome of a record. If the queue contradicts the toolkit's
// line, the queue is right. failed is the reason for which the whole invocation failed, ""
// if it did not.
func (inv *invocation) outcome(d lambda.Record, m *message, left bool, failed string) Record {
	left = left && !m.deleted // the function may have deleted it by itself
	logged, ok := inv.reports[d.MessageID]
	r := logged
	if !ok {
		r = m.unlogged(d.Attempt, Succeeded, "")
		r.Invocation, r.RequestID = inv.number, inv.RequestID
	}
	switch {
	case left && r.Done():
		r.Outcome, r.Reason = Retry, cmp.Or(failed, "the function named it in batchItemFailures")
		r.Shared = failed != "" && !ok
		if ok {
			r.Reason = "the handler was done (" + logged.Outcome + "), but the whole batch counts as failed: " + r.Reason
			r.DeadLetterQueue = ""
		}
	case !left && ok && !r.Done():
		r.Outcome = Lost
		r.Reason = "it failed, and Lambda deleted it: the event has no ReportBatchItemFailures (" + logged.Reason + ")"
		r.VisibleIn = -1
	}
	if !r.Done() && r.VisibleIn < 0 {
		r.VisibleIn = max(0, time.Until(m.due))
	}
	r.Repeats = ok && r.Outcome == logged.Outcome
	return r
}
