package sqs

import (
	"cmp"
	"container/list"
	"fmt"
	"slices"
	"time"
)

// content is the part of a message that never changes, so that answers are written from it
// without the server's lock. Exception: the history's lock guards events.
type content struct {
	id              string
	body            string
	bodyMD5         string
	attributes      map[string]attributeValue
	traceHeader     string
	groupID         string
	deduplicationID string
	events          *int32 // number of events in the history with this body; nil: none yet
}

// state is the state of a message. Each state has its own place in the queue's structures.
type state uint8

const (
	visible  state = iota // in its group's heap, or in none while a receive moves it
	delayed               // in queue.hidden until its delay ends
	inFlight              // in queue.hidden: received, and neither deleted nor visible again
)

type message struct {
	content *content
	uid     uint64 // unique in the server, in receipt handles
	group   *group
	state   state
	// order is the message's place among the visible messages of its group: the sequence
	// number on FIFO queues, else the same as shown.
	order    uint64
	shown    uint64 // lastOrder when the message last became visible; orders the groups by their first messages
	sequence uint64 // FIFO only

	sent          time.Time // enqueue time: retention counts from here
	firstReceived time.Time
	lastReceived  time.Time // the 12 h of visibility count from here
	due           time.Time // when a hidden message becomes visible
	received      int       // number of receives from all queues
	receivedHere  int       // number of receives from this queue, which maxReceiveCount limits
	source        string    // ARN of the queue from which SQS dead-lettered the message
	again         bool      // DuplicateDelivery affected the last receive: the next one gets a copy

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
	attributes                map[string]string // the attributes that were set, in canonical form
	settings                  settings          // the parsed attributes
	tags                      map[string]string
	messages                  map[uint64]*message
	groups                    map[string]*group
	ready                     heap[*group]   // groups that a receive may take from
	noisy                     []*group       // receivable groups of noisy tenants, which are received last
	hidden                    heap[*message] // delayed and in flight, by due
	ages                      heap[*message] // all, by sent
	delayedCount, inFlightNow int
	worked                    processing
	lastOrder                 uint64
	sentEarlier               recent[pastSend]   // by deduplication id
	attempts                  recent[[]delivery] // by ReceiveRequestAttemptId
	waiting                   list.List          // of *receiver, in order of arrival
	moves                     []*moveTask        // the latest tasks of this source queue, oldest first
	moving                    *moveTask          // the active task; nil: none
	timer                     *time.Timer
	armed                     time.Time             // when timer fires; zero: it is not running
	observer                  func(Event, *content) // nil: no observer
	paused                    bool                  // receives get nothing
	prompt                    bool                  // Config.Observe is set: the timer reports changes without a request
}

func newQueue(name string, now time.Time) *queue {
	q := &queue{name: name, created: now, modified: now, tags: map[string]string{}}
	q.reset()
	return q
}

// reset drops all messages, deduplication ids and receive attempts.
func (q *queue) reset() {
	q.messages, q.groups = map[uint64]*message{}, map[string]*group{}
	q.noisy, q.delayedCount, q.inFlightNow = nil, 0, 0
	q.worked, q.attempts, q.sentEarlier = processing{}, recent[[]delivery]{}, recent[pastSend]{}
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

// add enqueues a message that was sent, moved or dead-lettered to this queue.
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

// hide puts a message in flight. Even with a timeout of 0 the message stays in flight until
// the next call of advance, so that one receive never returns a message twice.
func (q *queue) hide(m *message, now time.Time, timeout time.Duration) {
	m.state, m.due = inFlight, now.Add(timeout)
	q.countWork(m.group, now)
	q.inFlightNow++
	m.group.inFlight++
	if q.fifo {
		m.group.blocking.push(m)
	}
	q.hidden.push(m)
}

// countWork adds the processing time up to now. Call it before a number in flight changes.
func (q *queue) countWork(g *group, now time.Time) {
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
	q.countWork(m.group, at)
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
		q.unhideUntil(expiry.Add(-1)) // a message that expires and is due at the same instant is gone
		q.forget(m, expiry)
		q.observe(Expired, m, expiry)
	}
	q.unhideUntil(now)
}

// unhideUntil makes messages visible that are due at or before a time.
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

// redelay applies a FIFO queue's new delay to the messages that are delayed already (developer
// guide, "Delay queues").
func (q *queue) redelay(now time.Time) {
	for _, m := range slices.Clone(q.hidden.items) { // fix moves the items
		if m.state == delayed {
			m.due = m.sent.Add(q.settings.delay)
			q.hidden.fix(m.slot)
			q.observe(Visibility, m, now)
		}
	}
}

// sequenceNumber returns n in AWS's form of 20 digits, "" for 0.
func sequenceNumber(n uint64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("188%017d", n)
}
