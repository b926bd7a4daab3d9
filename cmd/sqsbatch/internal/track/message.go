package track

import (
	"fmt"
	"slices"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/lambda"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// A message is a message of a source queue.
type message struct {
	id, queue, body string
	sent            time.Time
	due             time.Time // earliest time of a receive
	received        int       // receive count
	held            bool      // received, before its invocation; containers: until it is visible again or gone
	inFlight        int       // number of running invocations with the message; several after a late redelivery
	deleted         bool      // by the event source mapping, the function or another receiver
	settled         bool      // counted in Progress
	removed         bool      // counted as removed
	reason          string    // the last failure's reason

	lastReport *Record   // containers: the last line about the message
	deletedAt  time.Time // containers
}

// Queue handles one event of the SQS emulator.
func (t *Tracker) Queue(e sqs.Event) {
	t.post(func() { t.queueEvent(e) })
}

func (t *Tracker) queueEvent(e sqs.Event) {
	if e.Kind == sqs.Moved {
		t.moved(e)
		return
	}
	if !t.feeds(e.Queue) {
		return
	}
	if e.Kind == sqs.Purged {
		for _, m := range t.alive {
			if m.queue == e.Queue {
				t.remove(m)
			}
		}
		return
	}
	m := t.messages[e.MessageID]
	if m == nil {
		if e.Kind != sqs.Sent {
			return
		}
		m = &message{id: e.MessageID, queue: e.Queue, body: e.Body, sent: e.Time}
		t.messages[m.id] = m
		t.alive[m.id] = m
		t.progress.Sent++
	}
	switch e.Kind {
	case sqs.Sent, sqs.Visibility, sqs.Returned:
		m.due = e.Time.Add(e.Visibility)
		m.held = t.o.Containers && m.held && e.Visibility > 0 // a heartbeat, unless a line reports the outcome
	case sqs.Received:
		m.due = e.Time.Add(e.Visibility)
		m.received = e.ReceiveCount
		m.held = true
	case sqs.Redriven:
		t.redriven(m, e)
	case sqs.Deleted:
		m.deleted = true
		delete(t.alive, m.id)
		if t.o.Containers {
			t.deleted(m, e.Time)
		} else if m.inFlight == 0 && !m.settled {
			t.remove(m) // by another receiver
		}
	case sqs.Expired:
		t.remove(m)
	}
}

// remove counts a message as removed, unless it was settled.
func (t *Tracker) remove(m *message) {
	delete(t.alive, m.id)
	if !m.settled {
		m.settled, m.removed = true, true
		t.progress.Removed++
	}
}

// redriven handles a message that SQS dead-lettered after maxReceiveCount receives.
func (t *Tracker) redriven(m *message, e sqs.Event) {
	delete(t.alive, m.id)
	reason := fmt.Sprintf("received %s, as often as maxReceiveCount allows", times(m.received))
	if m.reason != "" {
		reason = m.reason + " (" + reason + ")"
	}
	r := m.unlogged(m.received, DeadLetter, reason)
	r.DeadLetterQueue = e.DeadLetterQueue
	t.final(m, r)
}

// unlogged returns a record without a line in the function's log.
func (m *message) unlogged(attempt int, outcome, reason string) Record {
	return Record{MessageID: m.id, Body: m.body, Attempt: attempt, Outcome: outcome, Reason: reason, Duration: -1, Allowed: -1, VisibleIn: -1}
}

// final counts and emits a record with its final outcome.
func (t *Tracker) final(m *message, r Record) {
	r.Final = true
	t.settle(m, r)
	t.emit(r)
}

// settle counts a record's final outcome.
func (t *Tracker) settle(m *message, r Record) {
	if !r.Done() {
		t.progress.Retried++
		m.reason = r.Reason
		return
	}
	if m.settled {
		return // a second delivery of a settled message
	}
	m.settled = true
	switch r.Outcome {
	case Succeeded:
		t.progress.Succeeded++
	case Duplicate:
		t.progress.Duplicates++
	case Expired:
		t.progress.Expired++
	case DeadLetter:
		t.progress.DeadLettered++
		t.dead = append(t.dead, Dead{MessageID: m.id, Body: m.body, Reason: r.Reason, Attempt: r.Attempt})
	case Dropped:
		t.progress.Dropped++
	case Lost:
		t.progress.Lost++
	case Filtered:
		t.progress.Filtered++
	}
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// Filtered handles messages that Lambda deleted because they match none of the event's
// filters. The queue's events come before.
func (t *Tracker) Filtered(f lambda.Filtered) {
	t.post(func() {
		for i, v := range f.Verdicts {
			if v.Deleted {
				t.filtered(f.Records[i])
			} else {
				t.emit(Warning{Text: fmt.Sprintf("message %s matches no filter but could not be deleted: %v", f.Records[i].MessageID, v.Err)})
			}
		}
	})
}

func (t *Tracker) filtered(d lambda.Record) {
	m := t.messages[d.MessageID]
	if m == nil {
		return // sent before the tracker started
	}
	if m.removed { // the event source mapping had deleted the message
		m.settled, m.removed = false, false
		t.progress.Removed--
	}
	t.final(m, m.unlogged(d.Attempt, Filtered, "it matches no filter of the event: deleted, the function never sees it"))
}

// moved handles a message that a move task moved from or to a source queue.
func (t *Tracker) moved(e sqs.Event) {
	if !t.feeds(e.Queue) && !t.feeds(e.MovedTo) {
		return
	}
	if m := t.messages[e.MessageID]; m != nil && t.feeds(e.Queue) {
		delete(t.alive, m.id)
		if !m.settled {
			m.settled = true
			t.progress.Moved++
		}
	}
	if t.feeds(e.MovedTo) {
		if !t.revive(e) {
			t.progress.Sent++
		}
		m := &message{id: e.NewMessageID, queue: e.MovedTo, body: e.Body, sent: e.Time, due: e.Time.Add(e.Visibility)}
		t.messages[m.id] = m
		t.alive[m.id] = m
	}
	t.emit(e)
}

// feeds reports whether a queue is a source.
func (t *Tracker) feeds(queue string) bool { return slices.Contains(t.o.Sources, queue) }

// revive removes a dead letter that came back from the counts. It returns false if that is not a
// dead letter of this run, by the id or else the body.
func (t *Tracker) revive(e sqs.Event) bool {
	i := slices.IndexFunc(t.dead, func(d Dead) bool { return d.MessageID == e.MessageID })
	if i < 0 {
		i = slices.IndexFunc(t.dead, func(d Dead) bool { return d.Body == e.Body })
	}
	if i < 0 {
		return false
	}
	t.dead = slices.Delete(t.dead, i, i+1)
	t.progress.DeadLettered--
	return true
}
