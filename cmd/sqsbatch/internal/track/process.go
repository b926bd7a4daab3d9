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
		cut := t.cutOff()
		p.CutOff = len(cut)
		t.emit(p)
		now := time.Now()
		for _, m := range cut {
			r := m.unlogged(m.received, CutOff, "its process ended ("+p.Ended+")")
			r.Process, r.VisibleIn = p.Process, m.due.Sub(now)
			t.final(m, r)
		}
		t.settleUnreported()
	})
}

// cutOff takes the messages that were held by the only process.
func (t *Tracker) cutOff() (list []*message) {
	now := time.Now()
	for _, m := range t.alive {
		if m.held && m.due.After(now) {
			m.held = false
			list = append(list, m)
		}
	}
	slices.SortFunc(list, func(a, b *message) int {
		return cmp.Or(cmp.Compare(a.body, b.body), cmp.Compare(a.id, b.id))
	})
	return list
}

// ProcessLine takes one line of a process's output.
func (t *Tracker) ProcessLine(process int, stream, text string) {
	t.post(func() {
		r, ok := parseReport(text)
		t.toolkit = t.toolkit || ok
		switch r.Message {
		case "record":
			t.reported(process, r)
		case "batch", "batches": // sums; each record had its line
		default:
			t.said(r, ok, Log{Process: process, Stream: stream, Text: text})
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
		t.final(m, r)
	case m.settled && !again: // it was settled without this line, which comes late
	case m.deleted:
		delete(t.unreported, m.id)
		t.final(m, r)
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
		r.Repeats = true
		t.final(m, r)
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
			return now.Add(grace), true
		}
	}
	latest := t.lastInFlight
	for _, m := range t.unreported {
		if m.deletedAt.After(latest) {
			latest = m.deletedAt
		}
	}
	if next = latest.Add(grace); next.After(now) {
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
		t.final(m, m.unlogged(m.received, Succeeded, "it was deleted; nothing was logged of it"))
	}
}
