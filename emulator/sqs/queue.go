package sqs

import (
	"cmp"
	"container/list"
	"fmt"
	"slices"
	"time"
)

// content is what the sender gave: it never changes, so answers are written
// from it without holding the server's lock. (The count of events is the
// history's, which changes it under its own.)
type content struct {
	id              string
	body            string
	bodyMD5         string
	attributes      map[string]attributeValue
	traceHeader     string
	groupID         string
	deduplicationID string
	events          *int32 // how many the history has with this body; nil: none yet
}

// state says which of its queue's structures holds a message.
type state uint8

const (
	visible  state = iota // in its group's heap, or just taken from there
	delayed               // in queue.hidden: not delivered before its delay has passed
	inFlight              // in queue.hidden: received and neither deleted nor returned
)

type message struct {
	content *content
	uid     uint64 // unique in the server, in receipt handles
	group   *group
	state   state
	// order is the message's place among the visible ones of its group: the
	// sequence number on FIFO queues, else when it last became visible.
	order    uint64
	shown    uint64 // place among the groups while it is its group's first: when it last became visible
	sequence uint64 // FIFO only

	sent          time.Time // enqueue time: retention counts from here
	firstReceived time.Time
	lastReceived  time.Time // the 12 h of visibility count from here
	due           time.Time // when a hidden message becomes visible
	received      int       // receives from all queues
	receivedHere  int       // receives from this queue: what maxReceiveCount bounds
	source        string    // ARN of the queue that it was redriven from
	again         bool      // what was received is one copy, another is to follow

	slot      int // place in its group's heap or in queue.hidden
	blockSlot int // place in its group's blocking
	ageSlot   int // place in queue.ages
}

// queue is one SQS queue. The server's lock guards all of it. Every message is
// in messages and ages, and, by its state, in its group's heap or in hidden;
// so each operation costs O(log n).
type queue struct {
	name, url, arn            string
	uid                       uint64
	fifo                      bool
	created, modified, purged time.Time
	attributes                map[string]string // what was set, in canonical form
	settings                  settings          // the same, parsed
	tags                      map[string]string
	messages                  map[uint64]*message
	groups                    map[string]*group
	ready                     heap[*group]   // groups that a receive may take from
	noisy                     []*group       // those of them that fair queues hold back
	hidden                    heap[*message] // delayed and in flight, by due
	ages                      heap[*message] // all, by sent
	delayedCount, inFlightNow int
	worked                    processing
	lastOrder                 uint64
	sentEarlier               recent[pastSend] // by deduplication id
	attempts                  recent[*attempt] // by ReceiveRequestAttemptId
	waiting                   list.List        // of *receiver, in order of arrival
	moves                     []*moveTask      // the latest from this queue
	moving                    *moveTask        // the active one of them; nil: none
	timer                     *time.Timer
	armed                     time.Time             // when timer fires; zero: it is not running
	observer                  func(Event, *content) // nil: no one wants to know
	prompt                    bool                  // the observer wants to know at once what time brings
}

func newQueue(name string, now time.Time) *queue {
	q := &queue{name: name, created: now, modified: now, tags: map[string]string{}}
	q.reset()
	return q
}

// reset drops all messages and everything remembered about them.
func (q *queue) reset() {
	q.messages, q.groups = map[uint64]*message{}, map[string]*group{}
	q.noisy, q.delayedCount, q.inFlightNow = nil, 0, 0
	q.worked, q.attempts, q.sentEarlier = processing{}, recent[*attempt]{}, recent[pastSend]{}
	q.ready = heap[*group]{
		less:  func(a, b *group) bool { return a.messages.first().shown < b.messages.first().shown },
		place: func(g *group, i int) { g.slot = i },
	}
	q.hidden = heap[*message]{
		less:  func(a, b *message) bool { return cmp.Or(a.due.Compare(b.due), cmp.Compare(a.order, b.order)) < 0 },
		place: func(m *message, i int) { m.slot = i },
	}
	q.ages = heap[*message]{
		less:  func(a, b *message) bool { return a.sent.Before(b.sent) },
		place: func(m *message, i int) { m.ageSlot = i },
	}
}

// add enqueues a message that is new to this queue.
func (q *queue) add(m *message, now time.Time, delay time.Duration) {
	g := q.groups[m.content.groupID]
	if g == nil {
		g = newGroup()
		q.groups[m.content.groupID] = g
	}
	m.group = g
	g.total++
	g.sent = now
	q.lastOrder++
	m.order, m.shown, m.receivedHere, m.again = q.lastOrder, q.lastOrder, 0, false
	if q.fifo {
		m.sequence = q.lastOrder
	}
	q.messages[m.uid] = m
	q.ages.push(m)
	if delay <= 0 {
		q.show(m)
		return
	}
	m.state, m.due = delayed, now.Add(delay)
	q.delayedCount++
	q.hidden.push(m)
}

// show makes a message that is in no heap receivable.
func (q *queue) show(m *message) {
	m.state = visible
	m.group.messages.push(m)
	q.refresh(m.group)
}

// hide puts a message that was just taken in flight. A timeout of 0 leaves it
// there until advance, so that one receive never returns a message twice.
func (q *queue) hide(m *message, now time.Time, timeout time.Duration) {
	m.state, m.due = inFlight, now.Add(timeout)
	q.work(m.group, now)
	q.inFlightNow++
	m.group.inFlight++
	if q.fifo {
		m.group.blocking.push(m)
	}
	q.hidden.push(m)
}

// work counts processing time up to now, before a number in flight changes.
func (q *queue) work(g *group, now time.Time) {
	if !q.fifo {
		q.worked.advance(now, q.inFlightNow)
		g.worked.advance(now, g.inFlight)
	}
}

// unhide takes a message out of hidden and leaves it in no heap.
func (q *queue) unhide(m *message, at time.Time) {
	q.hidden.remove(m.slot)
	if m.state == delayed {
		q.delayedCount--
		return
	}
	q.work(m.group, at)
	q.inFlightNow--
	m.group.inFlight--
	if q.fifo {
		m.group.blocking.remove(m.blockSlot)
	}
}

// forget removes a message, whatever its state.
func (q *queue) forget(m *message, at time.Time) {
	if m.state == visible {
		if m.slot >= 0 {
			m.group.messages.remove(m.slot)
		}
	} else {
		q.unhide(m, at)
	}
	delete(q.messages, m.uid)
	q.ages.remove(m.ageSlot)
	q.refresh(m.group)
	if m.group.total--; m.group.total == 0 {
		delete(q.groups, m.content.groupID)
	}
}

// advance brings the queue's state up to now, in order of time: messages that are due
// become visible, and messages older than the retention period are deleted.
func (q *queue) advance(now time.Time) {
	for m := q.ages.first(); m != nil; m = q.ages.first() {
		expiry := m.sent.Add(q.settings.retention)
		if expiry.After(now) {
			break
		}
		q.unhideUntil(expiry.Add(-1)) // what would return in this very moment is gone
		q.forget(m, expiry)
		q.observe(Expired, m, expiry)
	}
	q.unhideUntil(now)
}

// unhideUntil makes the messages visible that are due at or before a time.
func (q *queue) unhideUntil(at time.Time) {
	for m := q.hidden.first(); m != nil && !m.due.After(at); m = q.hidden.first() {
		was := m.state
		q.unhide(m, m.due)
		q.lastOrder++
		m.shown = q.lastOrder
		if !q.fifo {
			m.order = m.shown
		}
		q.show(m)
		if was == inFlight {
			q.observe(Returned, m, m.due)
		}
	}
}

// nextChange returns when advance next has something to do; ok is false for never.
func (q *queue) nextChange() (at time.Time, ok bool) {
	consider := func(change time.Time) {
		if !ok || change.Before(at) {
			at, ok = change, true
		}
	}
	if m := q.hidden.first(); m != nil {
		consider(m.due)
	}
	if m := q.ages.first(); m != nil {
		consider(m.sent.Add(q.settings.retention))
	}
	if q.moving != nil {
		consider(q.moving.nextMove())
	}
	return at, ok
}

// redelay gives the delayed messages of a FIFO queue its new delay, which also applies to
// messages in the queue (CreateQueue's DelaySeconds in the developer guide, "Delay
// queues").
func (q *queue) redelay() {
	for _, m := range slices.Clone(q.hidden.items) { // fix moves the items
		if m.state == delayed {
			m.due = m.sent.Add(q.settings.delay)
			q.hidden.fix(m.slot)
		}
	}
}

// sequenceNumber is n as AWS writes it: 20 digits.
func sequenceNumber(n uint64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("188%017d", n)
}
