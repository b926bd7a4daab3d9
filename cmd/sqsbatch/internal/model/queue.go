package model

import "time"

// state is where a message is.
type state uint8

const (
	visible state = iota
	delayed
	inFlight
	gone
)

// message is a message of the source queue, until it is gone.
type message struct {
	group    *group // FIFO
	number   int    // of the run, from 0
	sent     time.Duration
	first    time.Duration // first receive
	due      time.Duration // when it becomes visible, if it is delayed or in flight
	shown    uint64        // when it became visible; FIFO only
	received int
	running  int // handlers at work
	state    state
	last     attempt // the latest one
	done     bool    // a handler succeeded
}

// queue is the source queue, by the rules of emulator/sqs.
type queue struct {
	*sim
	ready     ring[*message] // standard: visible messages, in the order in which they became so
	groups    []group        // FIFO
	turns     heap[turn]     // FIFO: groups that may be received from
	shows     uint64
	receivers ring[*receiver]
	live      ring[*message] // in the order of the sends, those that are gone as well
	fresh     ring[*message] // the same for ApproximateAgeOfOldestMessage

	visible, delayed, inFlight int
	serves                     bool // serve is scheduled
	expiring                   bool // the end of the retention period is scheduled
}

// group is a FIFO group: its messages in order, those that are gone as well.
type group struct {
	number   int
	messages ring[*message]
	turn     uint64 // 0 without one
}

// turn is a group's place among those to receive from. It is void if the group has another one.
type turn struct {
	*group
	shown uint64
}

//lint:ignore U1000 heap calls it
func (t turn) before(other turn) bool { return t.shown < other.shown }

// receiver is a ReceiveMessage call that waits.
type receiver struct {
	most       int
	visibility time.Duration
	got        func([]delivery) // without deliveries the wait is over
	over       bool
	gone       *bool // if true, the client has ended the call
}

// delivery is one receive of a message.
type delivery struct {
	*message
	receive int // message.received then: SQS ignores the handle after another receive
	at      time.Duration
}

// latest reports whether the message was not received again, and is not gone.
func (d *delivery) latest() bool { return d.state != gone && d.receive == d.received }

// send adds a message that is sent now. Call serve afterwards.
func (q *queue) send(number int) {
	m := &message{number: number, sent: q.now}
	q.live.push(m)
	q.fresh.push(m)
	if n := len(q.groups); n > 0 {
		m.group = &q.groups[q.s.groupOf(number)]
		m.group.messages.push(m)
	}
	if !q.expiring {
		q.expire()
	}
	if q.s.Queue.Delay == 0 {
		q.show(m)
		return
	}
	m.state, m.due = delayed, q.now+q.s.Queue.Delay
	q.delayed++
	q.add(q.s.Queue.Delay, event{shows: m})
}

// show makes a message receivable.
func (q *queue) show(m *message) {
	m.state = visible
	q.visible++
	if m.group == nil {
		q.ready.push(m)
		return
	}
	q.shows++
	m.shown = q.shows
	q.refresh(m.group)
}

// due handles the end of a delay or a visibility timeout, unless it was changed since.
func (q *queue) due(m *message) {
	if m.state != delayed && m.state != inFlight || m.due != q.now {
		return
	}
	q.unhide(m)
	q.show(m)
	if !q.serves { // a receive gets all messages that become visible at the same time
		q.serves = true
		q.after(0, func() {
			q.serves = false
			q.serve()
		})
	}
}

func (q *queue) unhide(m *message) {
	if m.state == delayed {
		q.delayed--
	} else {
		q.inFlight--
	}
}

// forget removes a message. Refresh its group afterwards.
func (q *queue) forget(m *message) {
	if m.state == visible {
		q.visible--
	} else {
		q.unhide(m)
	}
	m.state = gone
}

// expire removes messages that are older than the retention period, and schedules the next time.
func (q *queue) expire() {
	q.expiring = false
	for m := q.oldest(); m != nil; m = q.oldest() {
		if at := m.sent + q.s.Queue.Retention; at > q.now {
			q.expiring = true
			q.at(at, q.expire)
			return
		}
		q.forget(m)
		q.refresh(m.group)
		q.r.Totals.Expired++
	}
	q.serve()
}

// oldest returns the oldest message, nil if there is none.
func (q *queue) oldest() *message {
	for q.live.len() > 0 {
		if m := q.live.first(); m.state != gone {
			return m
		}
		q.live.pop()
	}
	return nil
}

// age returns ApproximateAgeOfOldestMessage. On a standard queue it leaves out messages that were
// received three times or more ["Available CloudWatch metrics for Amazon SQS"].
func (q *queue) age() time.Duration {
	for q.fresh.len() > 0 {
		if m := q.fresh.first(); m.state != gone && (q.s.Queue.FIFO || m.received < 3) {
			return q.now - m.sent
		}
		q.fresh.pop()
	}
	return 0
}

// changeVisibility sets the visibility timeout from now on. It has no effect with an old handle, and
// if the timeout is over. The call is the caller's to count.
func (q *queue) changeVisibility(d *delivery, timeout time.Duration) {
	if d.latest() && d.state == inFlight {
		d.due = q.now + timeout
		q.add(timeout, event{shows: d.message})
	}
}

// delete deletes a message, and reports whether it did: with an old handle it has no effect, nor on a
// FIFO queue if the timeout is over. The call is the caller's to count.
func (q *queue) delete(d *delivery) bool {
	if !d.latest() || q.s.Queue.FIFO && d.state != inFlight {
		return false
	}
	q.forget(d.message)
	q.refresh(d.group)
	return true
}

// receive begins a receive that waits for up to wait. Several are served in the order in which they
// began.
func (q *queue) receive(most int, visibility, wait time.Duration, got func([]delivery)) *receiver {
	r := &receiver{most: most, visibility: visibility, got: got}
	q.receivers.push(r)
	q.serve()
	if !r.over {
		q.after(wait, func() { q.end(r) })
	}
	return r
}

// end ends a receive without messages.
func (q *queue) end(r *receiver) {
	if !r.over {
		r.over = true
		q.r.Totals.Requests.Receive++
		q.r.Totals.Requests.Billed++
		q.receivers.remove(func(other *receiver) bool { return other == r })
		r.got(nil)
	}
}

// serve gives visible messages to waiting receives.
func (q *queue) serve() {
	for q.receivers.len() > 0 && q.visible > 0 && q.inFlight < q.rules.quota {
		r := q.receivers.first()
		if r.gone != nil && *r.gone {
			q.receivers.pop()
			r.over = true
			continue
		}
		got := q.dequeue(r)
		if len(got) == 0 {
			break
		}
		q.receivers.pop()
		r.over = true
		q.r.Totals.Requests.Receive++
		q.r.Totals.Requests.Billed += q.chunks(len(got))
		q.after(0, func() { r.got(got) })
	}
	q.note()
}

// dequeue puts up to r.most messages in flight. Of a FIFO group it takes as many as it may.
func (q *queue) dequeue(r *receiver) (got []delivery) {
	take := func(m *message) {
		if most := q.s.Queue.MaxReceiveCount; most > 0 && m.received >= most+q.rules.redriveLate {
			q.forget(m)
			q.deadLetter(m)
			return
		}
		if m.received++; m.received == 1 {
			m.first = q.now
		}
		m.state, m.due = inFlight, q.now+r.visibility
		q.visible--
		q.inFlight++
		q.r.Totals.Deliveries++
		q.add(r.visibility, event{shows: m})
		got = append(got, delivery{m, m.received, q.now})
	}
	full := func() bool { return len(got) == r.most || q.inFlight >= q.rules.quota }
	for !full() && q.ready.len() > 0 {
		if m := q.ready.pop(); m.state == visible { // else it has expired
			take(m)
		}
	}
	for !full() && len(q.turns) > 0 {
		if t := q.turns.pop(); t.turn == t.shown {
			t.turn = 0
			for _, m := range t.messages.items() {
				if full() || m.state == inFlight {
					break
				}
				if m.state == visible {
					take(m)
				}
			}
			q.refresh(t.group)
		}
	}
	return got
}

// refresh gives a group a turn if a message of it may be received. It does nothing without a group.
func (q *queue) refresh(g *group) {
	if g == nil {
		return
	}
	for g.messages.len() > 0 && g.messages.first().state == gone {
		g.messages.pop()
	}
	if shown := g.receivable(); shown != g.turn {
		g.turn = shown
		if shown > 0 {
			q.turns.push(turn{g, shown})
		}
	}
}

// receivable returns when the first visible message became so; 0 if there is none, or one in flight
// is before it.
func (g *group) receivable() uint64 {
	for _, m := range g.messages.items() {
		switch m.state {
		case inFlight:
			return 0
		case visible:
			return m.shown
		}
	}
	return 0
}
