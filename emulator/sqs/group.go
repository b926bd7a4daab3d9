package sqs

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// A queue's messages are kept by message group. On a FIFO queue, a message in flight blocks
// the messages behind it in its group. On a standard queue a group is a tenant. Messages
// without a group are in the group "".
type group struct {
	messages heap[*message] // the visible ones, by order
	blocking heap[*message] // those in flight, by order; FIFO only
	inFlight int
	worked   processing
	total    int       // messages in any state
	sent     time.Time // when the latest came to the queue
	slot     int       // place in queue.ready; -1: not there
	heldBack bool
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

// receivable reports whether the group's first visible message may be received:
// on a FIFO queue only an earlier message in flight blocks it. The developer
// guide's "FIFO queue delivery logic" says it of any message in flight. AWS's
// answers were recorded (groups/only-earlier of the conformance checks).
func (g *group) receivable() bool {
	first, blocking := g.messages.first(), g.blocking.first()
	return first != nil && (blocking == nil || first.order < blocking.order)
}

// refresh puts g where its present state belongs.
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

// isNoisy is the rule of the developer guide, "How Amazon SQS fair queues
// work": a tenant with at least 30 messages and more than a tenth of all
// messages in flight, or with more than a tenth of the recent processing time,
// unless it sent nothing for five minutes. Each message without a group is a
// tenant of its own.
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

// next returns the group to receive from: the one whose first message became
// visible first, noisy tenants last. It is nil when there is nothing to receive.
// So was AWS recorded on FIFO queues: a head that is released or expires goes
// behind the groups that were visible meanwhile (groups/released-goes-last of
// the conformance checks).
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
	// "How Amazon SQS fair queues work": of several noisy tenants, the one with
	// the fewest messages in flight first.
	return slices.MinFunc(q.noisy, func(a, b *group) int {
		return cmp.Or(cmp.Compare(a.inFlight, b.inFlight), cmp.Compare(a.messages.first().order, b.messages.first().order))
	})
}

const (
	// quietAfter is for how long a noisy tenant must send nothing to be quiet
	// again ("How Amazon SQS fair queues work" in the developer guide).
	quietAfter = 5 * time.Minute
	// recently is the time after which processing time counts only 1/e. The page only says
	// "recent".
	recently = 5 * time.Minute
	// leastWorked is the least recent processing time, in message-seconds, from which
	// shares count. Otherwise a queue's first message would make its tenant noisy. The page
	// has no such limit, but calls its own approximate.
	leastWorked = 60.0
)

// processing is how long messages were in flight recently, in seconds: each message adds
// one second per second. The zero value is ready to use.
type processing struct {
	seconds float64
	at      time.Time // up to when it counts
}

// until returns the time up to now, while so many messages were in flight.
func (p *processing) until(now time.Time, inFlight int) float64 {
	passed := now.Sub(p.at)
	if passed <= 0 || p.seconds == 0 && inFlight == 0 {
		return p.seconds
	}
	left := math.Exp(-float64(passed) / float64(recently))
	return p.seconds*left + float64(inFlight)*recently.Seconds()*(1-left)
}

// advance is to be called before the number in flight changes.
func (p *processing) advance(now time.Time, inFlight int) {
	if now.After(p.at) {
		p.seconds, p.at = p.until(now, inFlight), now
	}
}
