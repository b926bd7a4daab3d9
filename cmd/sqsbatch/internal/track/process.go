package track

import (
	"cmp"
	"slices"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/container"
)

// Process takes the start of a process, or its end after the last of its lines.
func (t *Tracker) Process(c container.Change) {
	t.post(func() {
		p := Process{Change: c}
		if p.Ended == "" {
			t.progress.Starts++
			t.running++
			t.emit(p)
			return
		}
		t.running--
		if !p.Asked {
			t.progress.Crashes++
		}
		if t.running > 0 {
			p.CutOff = -1 // what is held may be another's
			t.emit(p)
			return
		}
		cut := t.cutOff(p)
		p.CutOff = len(cut)
		t.emit(p)
		for _, r := range cut {
			t.emit(r)
		}
		t.settleUnreported()
	})
}

// cutOff gives what was held by the only process an outcome for this attempt.
func (t *Tracker) cutOff(p Process) (list []Record) {
	now := time.Now()
	for _, m := range t.alive {
		if !m.held || !m.due.After(now) {
			continue
		}
		m.held = false
		r := Record{
			Process: p.Process, MessageID: m.id, Body: m.body, Attempt: m.received, Outcome: CutOff,
			Reason: "its process ended (" + p.Ended + ")", Duration: -1, Allowed: -1, VisibleIn: m.due.Sub(now), Final: true,
		}
		t.settle(m, r)
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b Record) int {
		return cmp.Or(cmp.Compare(a.Body, b.Body), cmp.Compare(a.MessageID, b.MessageID))
	})
	return list
}

// ProcessLine takes one line of a process's output.
func (t *Tracker) ProcessLine(process int, stream, text string) {
	t.post(func() {
		r, ok := parseReport(text)
		switch {
		case !ok:
			t.emit(Log{Process: process, Stream: stream, Text: text})
		case r.Message == "record":
			t.toolkit = true
			t.reported(process, r)
		case r.Message == "batch" || r.Message == "batches":
			t.toolkit = true // sums; each record had its line
		case r.news():
			t.toolkit = true
			t.emit(Log{Process: process, Stream: stream, Text: r.Message})
		default:
			t.toolkit = true
			w := r.warning()
			w.MessageID = r.MessageID
			if m := t.messages[r.MessageID]; m != nil {
				w.Body = m.body
			}
			t.emit(w)
		}
	})
}

// reported takes what the toolkit logged of a record, after the queue's own events.
func (t *Tracker) reported(process int, line report) {
	r := line.record()
	r.Process = process
	m := t.messages[r.MessageID]
	if m == nil {
		t.emit(r) // sent before this tool looked; keep it out of the account
		return
	}
	r.Body, r.Attempt, r.Age = m.body, cmp.Or(r.Attempt, m.received), t.age(m.id)
	again := m.lastReport != nil && m.lastReport.Outcome == Succeeded && r.Outcome == Succeeded
	if again {
		t.progress.HandledAgain++
		r.Reason = "handled again: it could not be deleted before"
	}
	m.lastReport = &r
	switch {
	case !r.Done():
		m.held = false
		if r.VisibleIn < 0 {
			r.VisibleIn = max(0, time.Until(m.due))
		}
		r.Final = true
		t.settle(m, r)
		t.emit(r)
	case m.settled && !again: // it was settled without this line, which comes late
	case m.deleted:
		delete(t.unreported, m.id)
		r.Final = true
		t.settle(m, r)
		t.emit(r)
	default: // its deletion failed and is tried again
		t.emit(r)
	}
}

// deleted takes the deletion of a message.
func (t *Tracker) deleted(m *message, at time.Time) {
	m.deletedAt = at
	switch {
	case m.settled:
	case m.lastReport != nil && m.lastReport.Done():
		r := *m.lastReport
		r.Final, r.Repeats = true, true
		t.settle(m, r)
		t.emit(r)
	case m.held:
		t.unreported[m.id] = m
	default:
		t.remove(m) // by another receiver
	}
}

// finishUnreported gives an outcome to deleted messages without a line. While
// something is in flight, lines may still come. It returns when to look again.
func (t *Tracker) finishUnreported(now time.Time) (next time.Time, waits bool) {
	if len(t.unreported) == 0 {
		return next, false
	}
	for _, m := range t.alive {
		if m.held && m.due.After(now) && t.toolkit {
			t.lastInFlight = now
			return now.Add(t.o.Grace), true
		}
	}
	latest := t.lastInFlight
	for _, m := range t.unreported {
		if m.deletedAt.After(latest) {
			latest = m.deletedAt
		}
	}
	if next = latest.Add(t.o.Grace); next.After(now) {
		return next, true
	}
	t.settleUnreported()
	return next, false
}

func (t *Tracker) settleUnreported() {
	for id, m := range t.unreported {
		delete(t.unreported, id)
		if m.lastReport != nil && m.lastReport.Attempt >= m.received { // it had failed, and then another receiver deleted it
			t.remove(m)
			continue
		}
		r := Record{
			MessageID: m.id, Body: m.body, Attempt: m.received, Outcome: Succeeded, Reason: "it was deleted; nothing was logged of it",
			Duration: -1, Allowed: -1, VisibleIn: -1, Final: true,
		}
		t.settle(m, r)
		t.emit(r)
	}
}
