package sqs_test

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// model is a queue and its dead-letter queue as AWS's documentation describes them: lists that
// are sorted and searched for every operation. It shares no code with the emulator. Where the
// documentation leaves a choice, the rules are those of the package's comment.
type model struct {
	*rules
	now          time.Duration // since the history began; the operations are in order of time
	source, dead modelQueue
	past         []pastSend
	attempts     []pastReceive
	moving       bool // a message move task runs
	nextMove     time.Duration
	toMove       int // messages that the task still moves
}

// rules are the attributes of the queues, which a history does not change.
type rules struct {
	fifo          bool
	anyOrder      bool // of a standard queue: a receive may return any visible messages
	delay, retain time.Duration
	maxReceives   int
}

type modelQueue struct {
	messages []*modelMessage
	order    int           // the latest order of a message
	purged   time.Duration // the last purge plus a minute
	waiting  []int         // long polls, in order of arrival
	sequence string        // the latest sequence number
}

type modelMessage struct {
	body, group string
	sent        time.Duration
	// order is the place among the visible messages: by the time of the send on FIFO
	// queues, else by the time at which the message became visible.
	order int
	// shown counts up when messages become visible: the order of groups.
	shown    int
	delayed  bool
	inFlight bool
	until    time.Duration // end of the delay or the visibility timeout
	received int           // number of receives from this queue
	total    int           // number of receives from both queues
	handles  []string      // oldest first
}

// pastSend is a send that a later one may duplicate ("Exactly-once processing": 5 minutes).
type pastSend struct {
	deduplicationID, messageID, sequence string
	until                                time.Duration
}

// pastReceive is a receive that a later one with the same ReceiveRequestAttemptId repeats.
type pastReceive struct {
	id    string
	got   []received
	ends  time.Duration // of the visibility timeouts
	until time.Duration
}

const (
	fiveMinutes  = 5 * time.Minute
	moveInterval = 2 * time.Millisecond // of a message move task
)

// linearizable is porcupine's form of the model.
func (r *rules) linearizable() porcupine.Model {
	return (&porcupine.NondeterministicModel{
		Init: func() []any { return []any{&model{rules: r}} },
		Step: func(state, input, _ any) (after []any) {
			for _, m := range state.(*model).step(input.(effect)) {
				after = append(after, m)
			}
			return after
		},
		Equal: reflect.DeepEqual,
	}).ToModel()
}

func (m *model) clone() *model {
	c := *m
	for _, q := range []*modelQueue{&c.source, &c.dead} {
		q.waiting = slices.Clone(q.waiting)
		q.messages = slices.Clone(q.messages)
		for i, one := range q.messages {
			copied := *one
			copied.handles = slices.Clone(one.handles)
			q.messages[i] = &copied
		}
	}
	c.past, c.attempts = slices.Clone(m.past), slices.Clone(m.attempts)
	return &c
}

// step returns the states in which the queues may be after e has taken effect, none if it
// cannot have had its answer.
func (m *model) step(e effect) (after []*model) {
	m = m.clone()
	if !m.advance(e.at) {
		return nil
	}
	starts := []*model{m}
	if len(m.source.waiting) > 0 {
		// At this instant a long poll may have seen the queue already, or not yet: it moves
		// messages to the dead-letter queue, whence a task may move them back.
		if looked := m.clone(); len(looked.take(&looked.source, 1, 0)) == 0 && looked.advance(e.at) && !reflect.DeepEqual(m, looked) {
			starts = append(starts, looked)
		}
	}
	for _, start := range starts {
		if start.apply(e) {
			start.endMove()
			after = append(after, start)
		}
	}
	return after
}

// advance lets time pass. It returns false if a long poll did not get a message in time.
func (m *model) advance(to time.Duration) bool {
	if to < m.now {
		return false
	}
	for {
		if at := m.nextChange(); min(at, to) > m.now && !m.look() {
			return false
		}
		at := m.nextChange() // again: a long poll may have moved messages to the dead-letter queue
		if at > to {
			m.now = to
			return true
		}
		m.now = at
		m.change()
	}
}

// look lets the long polls look for messages. It returns false if one of them finds some.
func (m *model) look() bool {
	return (len(m.source.waiting) == 0 || len(m.take(&m.source, 1, 0)) == 0) && (len(m.dead.waiting) == 0 || len(m.take(&m.dead, 1, 0)) == 0)
}

// nextChange returns when the queues next change by themselves, not before now.
func (m *model) nextChange() (at time.Duration) {
	at = 1 << 62
	for _, q := range []*modelQueue{&m.source, &m.dead} {
		for _, one := range q.messages {
			at = min(at, one.sent+m.retain)
			if one.delayed || one.inFlight {
				at = min(at, one.until)
			}
		}
	}
	if m.moving && len(m.visible(&m.dead)) > 0 {
		at = min(at, m.nextMove)
	}
	return max(at, m.now)
}

// change makes the changes that are due now. A message that expires and becomes visible at the
// same instant is gone.
func (m *model) change() {
	for _, q := range []*modelQueue{&m.source, &m.dead} {
		q.messages = slices.DeleteFunc(q.messages, func(one *modelMessage) bool { return one.sent+m.retain <= m.now })
		due := slices.DeleteFunc(slices.Clone(q.messages), func(one *modelMessage) bool { return !one.delayed && !one.inFlight || one.until > m.now })
		slices.SortFunc(due, func(a, b *modelMessage) int { return cmp.Or(cmp.Compare(a.until, b.until), a.order-b.order) })
		for _, one := range due {
			one.delayed, one.inFlight = false, false
			q.order++
			one.shown = q.order
			if !m.fifo {
				one.order = one.shown
			}
		}
	}
	if list := m.visible(&m.dead); m.moving && m.nextMove <= m.now && len(list) > 0 {
		group := firstGroup(list)
		one := list[slices.IndexFunc(list, func(one *modelMessage) bool { return one.group == group })]
		m.dead.remove(one)
		m.add(&m.source, modelMessage{body: one.body, group: one.group, sent: m.now}, m.delay) // a new message
		m.nextMove, m.toMove = m.now+moveInterval, m.toMove-1
	}
	m.endMove()
}

// endMove ends a task that has moved as many messages as there were, or emptied the queue.
func (m *model) endMove() {
	if m.moving = m.moving && m.toMove > 0 && len(m.dead.messages) > 0; !m.moving {
		m.nextMove, m.toMove = 0, 0
	}
}

func (m *model) add(q *modelQueue, one modelMessage, delay time.Duration) {
	q.order++
	one.order, one.shown, one.delayed, one.until = q.order, q.order, delay > 0, m.now+delay
	q.messages = append(q.messages, &one)
}

func (q *modelQueue) remove(one *modelMessage) {
	q.messages = slices.DeleteFunc(q.messages, func(other *modelMessage) bool { return other == one })
}

// visible returns the messages that may be received, in order. A message in flight blocks
// later messages of its group.
func (m *model) visible(q *modelQueue) (list []*modelMessage) {
	for _, one := range q.messages {
		locked := m.fifo && slices.ContainsFunc(q.messages, func(o *modelMessage) bool { return o.inFlight && o.group == one.group && o.order < one.order })
		if !one.delayed && !one.inFlight && !locked {
			list = append(list, one)
		}
	}
	slices.SortFunc(list, func(a, b *modelMessage) int { return a.order - b.order })
	return list
}

// firstGroup returns the group whose first message became visible first.
func firstGroup(list []*modelMessage) string {
	first := map[string]*modelMessage{}
	for _, one := range list {
		if first[one.group] == nil {
			first[one.group] = one
		}
	}
	return slices.MinFunc(slices.Collect(maps.Values(first)), func(a, b *modelMessage) int { return a.shown - b.shown }).group
}

// exhausted reports whether a receive moves a message to the dead-letter queue.
func (m *model) exhausted(q *modelQueue, one *modelMessage) bool {
	return q == &m.source && one.received >= m.maxReceives
}

// redrive moves a message to the dead-letter queue ("Setting-up dead-letter queue retention":
// only on FIFO queues it gets a new enqueue time).
func (m *model) redrive(one *modelMessage) {
	m.source.remove(one)
	moved := modelMessage{body: one.body, group: one.group, sent: one.sent, total: one.total}
	if m.fifo {
		moved.sent = m.now
	}
	m.add(&m.dead, moved, 0)
}

// take receives the first messages of a queue.
func (m *model) take(q *modelQueue, limit int, timeout time.Duration) (got []*modelMessage) {
	for len(got) < limit {
		list := m.visible(q)
		if len(list) == 0 {
			break
		}
		group := firstGroup(list)
		before := len(got)
		for _, one := range list {
			switch {
			case len(got) == limit || one.group != group:
			case m.exhausted(q, one):
				m.redrive(one)
			default:
				got = append(got, one)
			}
		}
		for _, one := range got[before:] {
			m.deliver(one, timeout)
		}
	}
	return got
}

func (m *model) deliver(one *modelMessage, timeout time.Duration) {
	one.received++
	one.total++
	one.inFlight, one.until = true, m.now+timeout
}

// receive reports whether a receive may have its answer.
func (m *model) receive(e effect) bool {
	q := m.queue(e.dead)
	if e.attempt != "" {
		if at := slices.IndexFunc(m.attempts, func(p pastReceive) bool { return p.id == e.attempt && p.until > m.now }); at >= 0 && m.repeat(q, &m.attempts[at], e) {
			return slices.Equal(m.attempts[at].got, e.got)
		}
	}
	var taken []*modelMessage
	if m.anyOrder && len(e.got) > 0 {
		taken = m.takeAny(q, e.got, e.max, e.visibility)
	} else {
		taken = m.take(q, e.max, e.visibility)
	}
	if len(taken) != len(e.got) {
		return false
	}
	for i, one := range taken {
		if !one.is(e.got[i]) {
			return false
		}
		one.handles = append(one.handles, e.got[i].handle)
	}
	if e.attempt != "" && len(taken) > 0 {
		m.attempts = append(slices.DeleteFunc(m.attempts, func(p pastReceive) bool { return p.id == e.attempt }),
			pastReceive{e.attempt, e.got, m.now + e.visibility, m.now + fiveMinutes})
	}
	return true
}

// repeat restarts the visibility timeouts of an earlier receive's messages, if all of them are
// still in flight and were not changed since.
func (m *model) repeat(q *modelQueue, p *pastReceive, e effect) bool {
	var all []*modelMessage
	for _, got := range p.got {
		one := q.find(got.handle)
		if one == nil || !one.latest(got.handle) || !one.inFlight || one.until != p.ends {
			return false
		}
		all = append(all, one)
	}
	for _, one := range all {
		one.until = m.now + e.visibility
	}
	p.ends = m.now + e.visibility
	return true
}

// takeAny receives the messages of an answer from a standard queue that returns visible messages
// in any order. It returns nil if one of them is not visible. A queue with such receives has no
// dead letters, since the answers do not tell in which order they left.
func (m *model) takeAny(q *modelQueue, got []received, limit int, timeout time.Duration) (taken []*modelMessage) {
	visible := m.visible(q)
	if len(got) != min(limit, len(visible)) {
		return nil
	}
	for _, message := range got {
		at := slices.IndexFunc(visible, func(one *modelMessage) bool { return one.body == message.body })
		if at < 0 {
			return nil
		}
		m.deliver(visible[at], timeout)
		taken = append(taken, visible[at])
		visible = slices.Delete(visible, at, at+1)
	}
	return taken
}

// is reports whether an answer shows a message that was just delivered.
func (one *modelMessage) is(got received) bool {
	return one.body == got.body && one.sent.Milliseconds() == got.sent && one.total == got.receives
}

func (one *modelMessage) latest(handle string) bool { return one.handles[len(one.handles)-1] == handle }

// find returns the message that a handle names, nil if it has left the queue.
func (q *modelQueue) find(handle string) *modelMessage {
	at := slices.IndexFunc(q.messages, func(one *modelMessage) bool { return slices.Contains(one.handles, handle) })
	if at < 0 {
		return nil
	}
	return q.messages[at]
}

func (m *model) queue(dead bool) *modelQueue {
	if dead {
		return &m.dead
	}
	return &m.source
}

// apply reports whether e may have its answer.
func (m *model) apply(e effect) (right bool) {
	q := m.queue(e.dead)
	right = true
	switch e.do {
	case "wait": // a long poll begins, and finds a message only if it ends at once
		if looked := m.clone(); len(looked.take(looked.queue(e.dead), 1, 0)) == 0 {
			*m = *looked
		} else if e.at < e.ends {
			return false
		}
		q.waiting = append(q.waiting, e.poll)
	case "receive":
		if e.poll > 0 {
			at := slices.Index(q.waiting, e.poll)
			if at < 0 || len(e.got) > 0 && at > 0 || !e.gone && len(e.got) == 0 && e.at < e.began+e.wait {
				return false // it has not begun, another was first, or it ended early
			}
			if q.waiting = slices.Delete(q.waiting, at, at+1); e.gone {
				return true
			}
		}
		return m.receive(e)
	case "send":
		for i, s := range e.sends {
			right = right && m.send(s, e.answers[i])
		}
	case "delete", "hide":
		for i, s := range e.settles {
			right = right && e.answers[i].code == m.settle(q, e, s)
		}
	case "purge":
		early := q.purged > m.now
		if right = early == (e.code != ""); !early {
			*q = modelQueue{purged: m.now + time.Minute, order: q.order, waiting: q.waiting, sequence: q.sequence}
			if !e.dead {
				m.past, m.attempts = nil, nil
			}
		}
	case "move":
		if right = m.moving == (e.code != ""); !m.moving {
			m.moving, m.nextMove, m.toMove = true, m.now+moveInterval, len(m.dead.messages)
		}
	case "count":
		right = e.counts == q.counts()
	}
	return right
}

func (m *model) send(s sending, a answered) bool {
	m.past = slices.DeleteFunc(m.past, func(p pastSend) bool { return p.until <= m.now })
	if m.fifo {
		at := slices.IndexFunc(m.past, func(p pastSend) bool { return p.deduplicationID == s.deduplicationID })
		if at >= 0 {
			return m.past[at].messageID == a.messageID && m.past[at].sequence == a.sequence
		}
		m.past = append(m.past, pastSend{s.deduplicationID, a.messageID, a.sequence, m.now + fiveMinutes})
		if a.sequence <= m.source.sequence {
			return false
		}
		m.source.sequence = a.sequence
	}
	delay := m.delay
	if s.delay >= 0 {
		delay = s.delay
	}
	m.add(&m.source, modelMessage{body: s.body, group: s.group, sent: m.now}, delay)
	return a.code == "" && a.messageID != ""
}

// settle deletes or hides a message, and returns the code of the answer.
func (m *model) settle(q *modelQueue, e effect, s settling) (code string) {
	held := q.find(s.handle)
	latest := held != nil && held.latest(s.handle)
	switch {
	case e.do == "delete" && (held == nil || !m.fifo && !latest):
	case e.do == "delete" && m.fifo && !(latest && held.inFlight):
		return "InvalidParameterValue"
	case e.do == "delete":
		q.remove(held)
	case !latest && e.batch:
		return "ReceiptHandleIsInvalid"
	case !latest:
		return "InvalidParameterValue"
	case m.fifo && !held.inFlight:
		return map[bool]string{false: "AWS.SimpleQueueService.MessageNotInflight", true: "MessageNotInflight"}[e.batch]
	case held.inFlight:
		held.until = m.now + s.visibility
	}
	return ""
}

func (q *modelQueue) counts() (c counts) {
	for _, one := range q.messages {
		switch {
		case one.inFlight:
			c.inFlight++
		case one.delayed:
			c.delayed++
		default:
			c.visible++
		}
	}
	return c
}
