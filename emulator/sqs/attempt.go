package sqs

import (
	"slices"
	"time"
)

// attemptWindow is for how long a ReceiveRequestAttemptId is good: five
// minutes from the receive that it was first used for.
const attemptWindow = 5 * time.Minute

// attempts are the receives of a FIFO queue that may be repeated by their
// ReceiveRequestAttemptId, whose answer the client may not have got.
type attempts struct {
	byID map[string]*attempt
	// order has them from oldest to newest, those that were replaced included.
	order []*attempt
}

type attempt struct {
	id         string
	until      time.Time
	messages   []attemptedMessage
	deliveries []delivery
}

// attemptedMessage is a message as the receive left it.
type attemptedMessage struct {
	message  *message
	received int
	due      time.Time
}

func (a *attempts) drop(now time.Time) {
	for len(a.order) > 0 && !a.order[0].until.After(now) {
		if old := a.order[0]; a.byID[old.id] == old {
			delete(a.byID, old.id)
		}
		a.order[0] = nil
		a.order = a.order[1:]
	}
}

// remember keeps what a receive took.
func (a *attempts) remember(id string, deliveries []delivery, now time.Time) {
	if a.byID == nil {
		a.byID = map[string]*attempt{}
	}
	a.drop(now)
	kept := &attempt{id: id, until: now.Add(attemptWindow), deliveries: deliveries}
	for _, d := range deliveries {
		kept.messages = append(kept.messages, attemptedMessage{d.message, d.received, d.message.due})
	}
	a.byID[id] = kept
	a.order = append(a.order, kept)
}

// receiveAgain answers a receive whose ReceiveRequestAttemptId was used before with the
// same messages and receipt handles, and restarts their visibility timeout: see
// ReceiveMessage in the API reference. It does so for five minutes, as long as all messages
// are in flight and none was changed or deleted. AWS does not document other cases, nor
// requests with other parameters. Here the receive is then an ordinary one, and new
// parameters other than the visibility timeout are ignored.
func (q *queue) receiveAgain(id string, timeout time.Duration, now time.Time) (deliveries []delivery, ok bool) {
	q.attempts.drop(now)
	a := q.attempts.byID[id]
	if a == nil || slices.ContainsFunc(a.messages, func(k attemptedMessage) bool { return !q.untouched(k) }) {
		return nil, false
	}
	for i := range a.messages {
		m := a.messages[i].message
		m.due, m.lastReceived = now.Add(timeout), now
		a.messages[i].due = m.due
		q.hidden.fix(m.slot)
		q.observe(Visibility, m, now)
	}
	return a.deliveries, true
}

// untouched reports whether a message is unchanged since the receive.
func (q *queue) untouched(k attemptedMessage) bool {
	m := k.message
	return q.messages[m.uid] == m && m.state == inFlight && m.received == k.received && m.due.Equal(k.due)
}
