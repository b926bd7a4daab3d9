package sqs

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// group has the messages of a message group. On a FIFO queue, a message in flight blocks the
// messages behind it in the group. On a standard queue a group is a tenant. The group "" has
// the messages without a group.
type group struct {
	messages heap[*message] // visible messages, by order
	blocking heap[*message] // messages in flight, by order; FIFO only
	inFlight int
	worked   processing
	total    int       // number of messages in any state
	sent     time.Time // time of the latest message's arrival in the queue
	slot     int       // place in queue.ready; -1 outside of it
	heldBack bool      // in queue.noisy
}

func newGroup() *group {
	return &group{
		slot: -1,
		messages: heap[*message]{
			less:  func(a, b *message) bool { return a.order < b.order },
			place: func(m *message, i int) { m.slot = i },
		},
		blocking: heap[*message]{
			less:  func(a, b *message) bool { return a.order < b.order },
			place: func(m *message, i int) { m.blockSlot = i },
		},
	}
}

// receivable reports whether the group's first visible message may be received: on a FIFO queue
// only an earlier message in flight blocks it, as was recorded on AWS (groups/only-earlier of
// the conformance checks). In the developer guide's "FIFO queue delivery logic", any message in
// flight does.
func (g *group) receivable() bool {
	first, blocking := g.messages.first(), g.blocking.first()
	return first != nil && (blocking == nil || first.order < blocking.order)
}

// refresh updates g's place in queue.ready or queue.noisy after its messages have changed.
func (q *queue) refresh(g *group) {
	receivable := g.receivable()
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

// isNoisy applies the rule of the developer guide, "How Amazon SQS fair queues work". A
// tenant is noisy with at least 30 messages and more than a tenth of all messages in
// flight, or with more than a tenth of the recent processing time, unless it sent nothing
// for five minutes. Each message without a group is a tenant of its own, so these are never
// noisy.
func (q *queue) isNoisy(g *group, now time.Time) bool {
	if q.fifo || g == q.groups[""] || now.Sub(g.sent) >= quietAfter {
		return false
	}
	if g.inFlight >= 30 && g.inFlight*10 > q.inFlightNow {
		return true
	}
	all := q.worked.until(now, q.inFlightNow)
	return all >= leastWorked && g.worked.until(now, g.inFlight)*10 > all
}

// next returns the group to receive from, nil if nothing can be received: the group whose first
// message became visible first, noisy tenants last. This order was recorded on AWS's FIFO
// queues: a group whose first message is released, or whose visibility timeout ends, goes behind
// the groups that were visible meanwhile (groups/released-goes-last of the conformance checks).
func (q *queue) next(now time.Time) *group {
	// At most nine groups can be noisy at the same time by either rule, so this scan is
	// short.
	for i := 0; i < len(q.noisy); {
		g := q.noisy[i]
		if q.isNoisy(g, now) {
			i++
			continue
		}
		q.noisy = slices.Delete(q.noisy, i, i+1)
		g.heldBack = false
		q.ready.push(g)
	}
	for g := q.ready.first(); g != nil; g = q.ready.first() {
		if !q.isNoisy(g, now) {
			return g
		}
		q.ready.remove(g.slot)
		g.heldBack = true
		q.noisy = append(q.noisy, g)
	}
	if len(q.noisy) == 0 {
		return nil
	}
	// The noisy tenant with the fewest messages in flight is first ("How Amazon SQS fair queues
	// work").
	return slices.MinFunc(q.noisy, func(a, b *group) int {
		return cmp.Or(cmp.Compare(a.inFlight, b.inFlight), cmp.Compare(a.messages.first().order, b.messages.first().order))
	})
}

const (
	// quietAfter is the time without sends after which a noisy tenant is quiet (developer guide,
	// "How Amazon SQS fair queues work").
	quietAfter = 5 * time.Minute
	// recently is the time in which processing time loses weight by a factor of e. The page
	// says "recent" without a number.
	recently = 5 * time.Minute
	// leastWorked is the least recent processing time, in message-seconds, for the rule of a
	// tenth. Without it, a queue's first message would make its tenant noisy. The page has no
	// such limit, but calls its limits approximate.
	leastWorked = 60.0
)

// processing is the recent processing time in message-seconds: each message in flight adds one
// second per second. The zero value is ready to use.
type processing struct {
	seconds float64
	at      time.Time // end of the time that seconds includes
}

// until returns the processing time up to now, with inFlight messages in flight since p.at.
func (p *processing) until(now time.Time, inFlight int) float64 {
	passed := now.Sub(p.at)
	if passed <= 0 || p.seconds == 0 && inFlight == 0 {
		return p.seconds
	}
	left := math.Exp(-float64(passed) / float64(recently))
	return p.seconds*left + float64(inFlight)*recently.Seconds()*(1-left)
}

// advance adds the processing time up to now. Call it before the number in flight changes.
func (p *processing) advance(now time.Time, inFlight int) {
	if now.After(p.at) {
		p.seconds, p.at = p.until(now, inFlight), now
	}
}
