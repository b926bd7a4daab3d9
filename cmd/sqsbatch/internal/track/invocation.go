package track

import (
	"cmp"
	"slices"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/lambda"
)

// A Delivery is one record of an invocation.
type Delivery struct {
	MessageID, Body string
	Attempt         int
}

// An End is how an invocation ended, as the event source mapping saw it.
type End struct {
	RequestID string
	Duration  time.Duration
	ColdStart bool
	Init      time.Duration
	// Error is the function's error, "" when it answered.
	Error string
	// WholeBatchFail says why every record counts as failed although the
	// function answered; "" otherwise.
	WholeBatchFail string
	// Left holds the ids of the messages that stay in the queue.
	Left []string
}

// An invocation is one that has begun and is not final yet.
type invocation struct {
	number     int
	requestID  string
	deliveries []Delivery
	reports    map[string]Record // by message id
	settled    bool              // the toolkit has logged the batch: no line is missing
	end        *End
	final      time.Time // when the grace ends
}

// Started takes the beginning of an invocation.
func (t *Tracker) Started(requestID string, coldStart bool, deliveries []Delivery) {
	t.post(func() {
		t.progress.Invocations++
		inv := &invocation{
			number: t.progress.Invocations, requestID: requestID,
			deliveries: deliveries, reports: map[string]Record{},
		}
		t.invocations[requestID] = inv
		bodies := make([]string, 0, len(deliveries))
		for _, d := range deliveries {
			bodies = append(bodies, d.Body)
			if m := t.messages[d.MessageID]; m != nil {
				m.inFlight++
				m.held = false
			}
		}
		t.emit(Started{Invocation: inv.number, RequestID: requestID, Bodies: bodies, ColdStart: coldStart})
	})
}

// Ended takes the end of an invocation.
func (t *Tracker) Ended(e End) {
	now := time.Now()
	t.post(func() {
		if inv := t.invocations[e.RequestID]; inv != nil {
			inv.end, inv.final = &e, now.Add(t.o.Grace)
		}
	})
}

// Line takes one line of the function's output.
func (t *Tracker) Line(l lambda.Line) {
	t.post(func() { t.line(l) })
}

func (t *Tracker) line(l lambda.Line) {
	r, ok := parseReport(l.Text)
	inv := t.invocations[cmp.Or(r.RequestID, l.RequestID)]
	number := 0
	if inv != nil {
		number = inv.number
	}
	if !ok {
		t.emit(Log{Invocation: number, Stream: l.Stream, Text: l.Text})
		return
	}
	t.toolkit = true
	switch {
	case r.Message == "record" && inv != nil:
		t.report(inv, r)
	case r.Message == "batch" && inv != nil:
		inv.settled = true
	case r.Message == "record" || r.Message == "batch":
		// of an invocation that is final: too late to matter
	case r.news():
		t.emit(Log{Invocation: number, Stream: l.Stream, Text: r.Message})
	default:
		w := r.warning()
		w.MessageID = r.MessageID
		if m := t.messages[r.MessageID]; m != nil {
			w.Body = m.body
		}
		t.emit(w)
	}
}

// report shows a record as soon as the toolkit has logged it.
func (t *Tracker) report(inv *invocation, r report) {
	d := inv.delivery(r.MessageID)
	if d == nil {
		return
	}
	rec := r.record()
	rec.Invocation, rec.RequestID, rec.Body = inv.number, inv.requestID, d.Body
	rec.Attempt = cmp.Or(rec.Attempt, d.Attempt)
	rec.Age = t.age(rec.MessageID)
	inv.reports[r.MessageID] = rec
	t.emit(rec)
}

func (inv *invocation) delivery(id string) *Delivery {
	for i := range inv.deliveries {
		if inv.deliveries[i].MessageID == id {
			return &inv.deliveries[i]
		}
	}
	return nil
}

// complete says that no line of the toolkit can be missing any more.
func (inv *invocation) complete() bool {
	return inv.settled && len(inv.reports) == len(inv.deliveries)
}

// ripe lists, in order, the ended invocations for which nothing more is to
// come. A function that has never logged as sqsbatch does is not waited for.
func (t *Tracker) ripe(now time.Time) []*invocation {
	var out []*invocation
	for _, inv := range t.invocations {
		if inv.end == nil {
			continue
		}
		foreign := !t.toolkit && t.finals > 0
		if foreign || inv.complete() || !inv.final.After(now) {
			out = append(out, inv)
		}
	}
	slices.SortFunc(out, func(a, b *invocation) int { return a.number - b.number })
	return out
}

// finish gives every record of an ended invocation its final outcome.
func (t *Tracker) finish(inv *invocation) {
	delete(t.invocations, inv.requestID)
	t.finals++
	left := make(map[string]bool, len(inv.end.Left))
	for _, id := range inv.end.Left {
		left[id] = true
	}
	e := Ended{
		Invocation: inv.number, RequestID: inv.requestID, Records: len(inv.deliveries),
		Duration: inv.end.Duration, ColdStart: inv.end.ColdStart, Init: inv.end.Init,
		Error: inv.end.Error, WholeBatchFail: inv.end.WholeBatchFail,
	}
	for _, d := range inv.deliveries {
		m := t.messages[d.MessageID]
		if m == nil { // sent before this tool looked; keep it out of the account
			m = &message{id: d.MessageID, body: d.Body, settled: true}
		}
		m.inFlight = max(0, m.inFlight-1)
		r := t.final(inv, d, m, left[d.MessageID])
		if r.Done() {
			e.Deleted++
		} else {
			e.Back++
		}
		t.settle(m, r)
		t.emit(r)
	}
	t.emit(e)
}

// final weighs what the toolkit said of a record against what became of its
// message: the queue has the last word.
func (t *Tracker) final(inv *invocation, d Delivery, m *message, left bool) Record {
	left = left && !m.deleted // the function may have deleted it by itself
	said, ok := inv.reports[d.MessageID]
	r := said
	if !ok {
		r = Record{
			Invocation: inv.number, RequestID: inv.requestID, MessageID: d.MessageID, Body: d.Body,
			Attempt: d.Attempt, Outcome: Succeeded, Duration: -1, Allowed: -1, VisibleIn: -1,
		}
	}
	failed := cmp.Or(inv.end.Error, inv.end.WholeBatchFail)
	switch {
	case left && r.Done():
		r.Outcome, r.Reason = Retry, cmp.Or(failed, "the function named it in batchItemFailures")
		r.Shared = failed != "" && !ok
		if ok {
			r.Reason = "the handler was done (" + said.Outcome + "), but the whole batch counts as failed: " + r.Reason
			r.DeadLetterQueue = ""
		}
	case !left && ok && !r.Done():
		r.Outcome = Lost
		r.Reason = "it failed, and was deleted: the event lacks ReportBatchItemFailures (" + said.Reason + ")"
		r.VisibleIn = -1
	}
	if !r.Done() && r.VisibleIn < 0 {
		r.VisibleIn = max(0, time.Until(m.due))
	}
	r.Final, r.Repeats = true, ok && r.Outcome == said.Outcome
	return r
}
