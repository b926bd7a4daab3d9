package sqs_test

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// model is a queue and its dead-letter queue as simply as one can say what
// they do: lists that are sorted and searched anew for every operation. It
// shares nothing with the emulator.
type model struct {
	fifo          bool
	delay, retain time.Duration
	maxReceives   int
	source, dead  modelQueue
	sent          map[string]time.Time // when a deduplication id was first sent
}

type modelQueue struct {
	messages []*modelMessage
	order    int // the last that was given out
}

type modelMessage struct {
	body, group string
	sent        time.Time
	// order is the place among the visible ones: when it was sent on FIFO queues, else
	// when it last became visible.
	order int
	// shown is when it last became visible: the groups' order.
	shown    int
	delayed  bool
	inFlight bool
	until    time.Time // end of either
	received int       // from this queue
	handle   string    // the latest
}

// add takes in a message as another one than it may have been elsewhere.
func (q *modelQueue) add(body, group string, sent, now time.Time, delay time.Duration) {
	q.order++
	q.messages = append(q.messages, &modelMessage{body: body, group: group, sent: sent, order: q.order, shown: q.order, delayed: delay > 0, until: now.Add(delay)})
}

func (q *modelQueue) remove(m *modelMessage) {
	q.messages = slices.DeleteFunc(q.messages, func(other *modelMessage) bool { return other == m })
}

// advance lets time pass until now, in both queues.
func (d *model) advance(now time.Time) {
	for _, q := range []*modelQueue{&d.source, &d.dead} {
		var due []*modelMessage
		for _, m := range q.messages {
			if (m.delayed || m.inFlight) && !m.until.After(now) {
				due = append(due, m)
			}
		}
		slices.SortFunc(due, func(a, b *modelMessage) int {
			if c := a.until.Compare(b.until); c != 0 {
				return c
			}
			return a.order - b.order
		})
		for _, m := range due {
			m.delayed, m.inFlight = false, false
			q.order++
			m.shown = q.order
			if !d.fifo {
				m.order = m.shown
			}
		}
		q.messages = slices.DeleteFunc(q.messages, func(m *modelMessage) bool { return !m.sent.Add(d.retain).After(now) })
	}
}

// visible returns what may be received, in order; nothing that is behind a
// message of its group in flight.
func (d *model) visible(q *modelQueue) (list []*modelMessage) {
	for _, m := range q.messages {
		locked := d.fifo && slices.ContainsFunc(q.messages, func(o *modelMessage) bool { return o.inFlight && o.group == m.group && o.order < m.order })
		if !m.delayed && !m.inFlight && !locked {
			list = append(list, m)
		}
	}
	slices.SortFunc(list, func(a, b *modelMessage) int { return a.order - b.order })
	return list
}

// firstGroup is the group whose first message became visible first.
func firstGroup(list []*modelMessage) string {
	first := map[string]*modelMessage{}
	for _, m := range list {
		if first[m.group] == nil {
			first[m.group] = m
		}
	}
	return slices.MinFunc(slices.Collect(maps.Values(first)), func(a, b *modelMessage) int { return a.shown - b.shown }).group
}

// receive returns what a receive must give, and moves what is used up.
func (d *model) receive(q *modelQueue, limit int, now time.Time, timeout time.Duration) (got []*modelMessage) {
	for len(got) < limit {
		list := d.visible(q)
		if len(list) == 0 {
			break
		}
		group := firstGroup(list)
		var taken []*modelMessage
		for _, m := range list {
			if len(got)+len(taken) == limit || m.group != group && d.fifo {
				continue
			}
			if q == &d.source && m.received >= d.maxReceives {
				q.remove(m)
				sent := m.sent
				if d.fifo {
					sent = now
				}
				d.dead.add(m.body, m.group, sent, now, 0)
				continue
			}
			m.received++
			taken = append(taken, m)
		}
		for _, m := range taken {
			m.inFlight, m.until = true, now.Add(timeout)
		}
		got = append(got, taken...)
	}
	return got
}

// move is what a task back to the source does, one message each 2 ms, while
// nothing else happens and nothing is in flight.
func (d *model) move(now time.Time) (ends time.Time) {
	for list := d.visible(&d.dead); len(list) > 0; list = d.visible(&d.dead) {
		group := firstGroup(list)
		m := list[slices.IndexFunc(list, func(m *modelMessage) bool { return m.group == group })]
		now = now.Add(2 * time.Millisecond)
		d.dead.remove(m)
		d.source.add(m.body, m.group, now, now, d.delay)
	}
	return now
}

// duplicate reports whether a send is one, and else remembers it.
func (d *model) duplicate(id string, now time.Time) bool {
	if at, ok := d.sent[id]; ok && now.Before(at.Add(5*time.Minute)) {
		return true
	}
	d.sent[id] = now
	return false
}

func (q *modelQueue) counts() (visible, inFlight, delayed int) {
	for _, m := range q.messages {
		switch {
		case m.inFlight:
			inFlight++
		case m.delayed:
			delayed++
		default:
			visible++
		}
	}
	return visible, inFlight, delayed
}

func modelBodies(list []*modelMessage) string {
	var all []string
	for _, m := range list {
		all = append(all, m.body+"@"+ms(m.sent))
	}
	return strings.Join(all, " ")
}
