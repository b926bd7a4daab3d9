package main

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// ledger is what the server knows: events of messages, and calls of workers.
type ledger struct {
	mu         sync.Mutex
	messages   []state
	deliveries []delivery
	byHandle   map[string]int // receipt handle to index in deliveries
	calls      []call
	events     []event
	done       [phases]int     // messages deleted from their queue
	second     map[string]bool // second copies by id; true while not deleted
	closed     bool            // the run is over: what comes late is not noted
	lastDone   time.Time
}

// state is where the server has a message.
type state struct {
	deleted time.Time // zero: not yet
	due     time.Time // hidden until then
	last    int       // its latest delivery; -1 for none
	copies  []time.Time
	id      string // of the first copy; what follows is about that one
	sent    int    // how often the queue took it
	faulty  string // what must never happen to it, and did
	struck  bool   // DuplicateDelivery struck one of its deliveries
}

type delivery struct {
	n, attempt int
	at         time.Time
	process    int // which was given it; -1 when the answer reached none
	before     int // the message's delivery before; -1 for none
}

// event is what happened to a message, kept small.
type event struct {
	at      time.Time
	n       int
	kind    sqs.Kind
	attempt int
	hidden  time.Duration
}

func newLedger(messages int) *ledger {
	l := &ledger{messages: make([]state, messages), byHandle: make(map[string]int, messages), lastDone: time.Now(), second: map[string]bool{}}
	for i := range l.messages {
		l.messages[i].last = -1
	}
	return l
}

// observe is the emulator's sqs.Config.Observe: it notes an event of a message. A number that no
// phase has is of [checks].
func (l *ledger) observe(e sqs.Event) {
	n, ok := numberOf(e.Body)
	l.mu.Lock()
	defer l.mu.Unlock()
	if !ok || n >= len(l.messages) || l.closed {
		return
	}
	m := &l.messages[n]
	if strings.HasPrefix(e.Queue, deadName) {
		if e.Kind == sqs.Sent {
			m.copies = append(m.copies, e.Time)
		}
		return
	}
	if l.isSecond(m, e) {
		return
	}
	l.events = append(l.events, event{e.Time, n, e.Kind, e.ReceiveCount, e.Visibility})
	switch e.Kind {
	case sqs.Sent:
		m.sent = 1 // a FIFO queue answers a second try with the id of the first
	case sqs.Received:
		l.byHandle[e.ReceiptHandle] = len(l.deliveries)
		l.deliveries = append(l.deliveries, delivery{n, e.ReceiveCount, e.Time, -1, m.last})
		m.last = len(l.deliveries) - 1
		m.due = e.Time.Add(e.Visibility)
		m.struck = m.struck || e.Visibility == 0
	case sqs.Visibility:
		l.byHandle[e.ReceiptHandle] = m.last // a repeated receive attempt has a new one
		m.due = e.Time.Add(e.Visibility)
	case sqs.Returned:
		m.due = e.Time
	case sqs.Deleted:
		m.deleted = e.Time
		l.done[phaseOf(n, len(l.messages))]++
		l.lastDone = time.Now()
	case sqs.Redriven, sqs.Expired, sqs.Moved, sqs.Purged:
		m.faulty = string(e.Kind)
	}
}

// isSecond reports whether an event is of a second copy, which package sender may send to
// the standard queue after a lost answer. Of those only the end is noted.
func (l *ledger) isSecond(m *state, e sqs.Event) bool {
	if m.id == "" {
		m.id = e.MessageID
	}
	if e.MessageID == m.id {
		return false
	}
	if e.Kind == sqs.Sent {
		m.sent++
	}
	if left, known := l.second[e.MessageID]; !known || left {
		l.second[e.MessageID] = e.Kind != sqs.Deleted
	}
	return true
}

func (l *ledger) copiesLeft() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, left := range l.second {
		if left {
			n++
		}
	}
	return n
}

// close ends the ledger, which may then be read without its lock.
func (l *ledger) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
}

// numberOf reads a body's "n", which is its first member.
func numberOf(body string) (n int, ok bool) {
	_, err := fmt.Sscanf(body, `{"n":%d`, &n)
	return n, err == nil && n >= 0
}

// finished is how many messages of a phase are deleted, and when the last was.
func (l *ledger) finished(phase int) (n int, last time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.done[phase], l.lastDone
}

// stranded returns messages that a process had last, and that are hidden after by.
func (l *ledger) stranded(process int, by time.Time) (list []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for n := range l.messages {
		m := &l.messages[n]
		if m.last >= 0 && m.deleted.IsZero() && l.deliveries[m.last].process == process && m.due.After(by) {
			list = append(list, n)
		}
	}
	return list
}

// left returns the messages of a phase that are not deleted.
func (l *ledger) left(phase int) (list []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for n := range l.messages {
		if l.messages[n].deleted.IsZero() && phaseOf(n, len(l.messages)) == phase {
			list = append(list, n)
		}
	}
	return list
}
