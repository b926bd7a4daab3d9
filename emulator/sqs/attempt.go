package sqs

import (
	"slices"
	"time"
)

// attempt is a receive of a FIFO queue that may be repeated by its ReceiveRequestAttemptId,
// because the client may not have got its answer.
type attempt struct {
	messages   []attemptedMessage
	deliveries []delivery
}

// attemptedMessage is a message as the receive left it.
type attemptedMessage struct {
	message  *message
	received int
	due      time.Time
}

// newAttempt keeps what a receive took.
func newAttempt(deliveries []delivery) *attempt {
	a := &attempt{deliveries: deliveries}
	for _, d := range deliveries {
		a.messages = append(a.messages, attemptedMessage{d.message, d.received, d.message.due})
	}
	return a
}

// receiveAgain answers a receive whose ReceiveRequestAttemptId was used before with the
// same messages and receipt handles, and restarts their visibility timeout: see
// ReceiveMessage in the API reference. It does so for five minutes, as long as all messages
// are in flight and none was changed or deleted. AWS does not document other cases, nor
// requests with other parameters. Here the receive is then an ordinary one, and new
// parameters other than the visibility timeout are ignored.
func (q *queue) receiveAgain(id string, timeout time.Duration, now time.Time) (deliveries []delivery, ok bool) {
	a, ok := q.attempts.find(id, now)
	if !ok || slices.ContainsFunc(a.messages, func(k attemptedMessage) bool { return !q.untouched(k) }) {
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

func (q *queue) untouched(k attemptedMessage) bool {
	m := k.message
	return q.messages[m.uid] == m && m.state == inFlight && m.received == k.received && m.due.Equal(k.due)
}
