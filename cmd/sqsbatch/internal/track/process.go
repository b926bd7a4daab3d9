package track

import (
	"cmp"
	"slices"
	"time"
)

// Process handles the start of a process, or its end after its last line.
func (t *Tracker) Process(c Change) {
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
			p.CutOff = -1 // another process may have received the held messages
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

// cutOff returns the held messages, and marks them as not held.
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

// ProcessLine handles one line of a process's output.
func (t *Tracker) ProcessLine(process int, stream, text string) {
	t.post(func() {
		r, ok := parseReport(text)
		t.toolkit = t.toolkit || ok
		switch r.Message {
		case "record":
			t.reported(process, r)
		case "batch", "batches": // each record has a line of its own
		default:
			t.logged(r, ok, Log{Process: process, Stream: stream, Text: text})
		}
	})
}

// reported handles the toolkit's line about a record, which comes after the queue's events.
func (t *Tracker) reported(process int, line report) {
	r := line.record()
	r.Process = process
	m := t.messages[r.MessageID]
	if m == nil {
		t.emit(r) // not counted: sent before the tracker started
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
	case m.settled && !again: // the line came too late
	case m.deleted:
		delete(t.unreported, m.id)
		t.final(m, r)
	default: // the deletion failed and is retried
		t.emit(r)
	}
}

// deleted handles the deletion of a message.
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

// finishUnreported settles deleted messages without a line. While a message is in flight,
// lines may still come: then it returns the time of the next try, and true.
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
		if m.lastReport != nil && m.lastReport.Attempt >= m.received { // it failed, and another receiver deleted it
			t.remove(m)
			continue
		}
		t.final(m, m.unlogged(m.received, Succeeded, "it was deleted, but the function logged no outcome"))
	}
}
