package sqs

import (
	"cmp"
	"slices"
)

// A queue's messages are kept by message group. On a FIFO queue a group with a
// message in flight is locked. On a standard queue a group is a tenant, and
// the messages without a group are in the group "".
type group struct {
	messages heap[*message] // the visible ones, by order
	inFlight int
	total    int // messages in any state
	slot     int // place in queue.ready; -1: not there
	heldBack bool
}

func newGroup() *group {
	return &group{
		slot: -1,
		messages: heap[*message]{
			less:  func(a, b *message) bool { return a.order < b.order },
			place: func(m *message, i int) { m.slot = i },
		},
	}
}

// refresh puts g where its present state belongs.
func (q *queue) refresh(g *group) {
	receivable := g.messages.len() > 0 && (!q.fifo || g.inFlight == 0)
	switch {
	case receivable && g.slot >= 0:
		q.ready.fix(g.slot)
	case receivable && !g.heldBack:
		q.ready.push(g)
	case !receivable && g.slot >= 0:
		q.ready.remove(g.slot)
	case !receivable && g.heldBack:
		g.heldBack = false
		q.noisy = slices.DeleteFunc(q.noisy, func(other *group) bool { return other == g })
	}
}

// isNoisy is the rule of the developer guide, "How Amazon SQS fair queues
// work": a tenant with at least 30 messages and more than a tenth of all
// messages in flight. Its other measure, the share of processing time, is not
// emulated. Each message without a group is a tenant of its own.
func (q *queue) isNoisy(g *group) bool {
	return g.inFlight >= 30 && g.inFlight*10 > q.inFlightNow &&
		!q.fifo && g != q.groups[""]
}

// next returns the group to receive from: the one with the oldest visible
// message, noisy tenants last. It is nil when there is nothing to receive.
func (q *queue) next() *group {
	// At most nine groups can be noisy at a time, so this scan is short.
	for i := 0; i < len(q.noisy); {
		g := q.noisy[i]
		if q.isNoisy(g) {
			i++
			continue
		}
		q.noisy = slices.Delete(q.noisy, i, i+1)
		g.heldBack = false
		q.ready.push(g)
	}
	for g := q.ready.first(); g != nil; g = q.ready.first() {
		if !q.isNoisy(g) {
			return g
		}
		q.ready.remove(g.slot)
		g.heldBack = true
		q.noisy = append(q.noisy, g)
	}
	if len(q.noisy) == 0 {
		return nil
	}
	// "How Amazon SQS fair queues work": of several noisy tenants, the one with
	// the fewest messages in flight first.
	return slices.MinFunc(q.noisy, func(a, b *group) int {
		return cmp.Or(cmp.Compare(a.inFlight, b.inFlight), cmp.Compare(a.messages.first().order, b.messages.first().order))
	})
}
