package sqs

import (
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

type receiveRequest struct {
	queueRequest
	MaxNumberOfMessages         *int
	VisibilityTimeout           *int
	WaitTimeSeconds             *int
	MessageAttributeNames       []string
	AttributeNames              []string // the older name of MessageSystemAttributeNames
	MessageSystemAttributeNames []string
	ReceiveRequestAttemptID     *string `json:"ReceiveRequestAttemptId"`
}

var systemAttributeNames = []string{
	"All", "SqsManagedSseEnabled", "SenderId", "SentTimestamp", "ApproximateReceiveCount", "ApproximateFirstReceiveTimestamp",
	"SequenceNumber", "MessageDeduplicationId", "MessageGroupId", "AWSTraceHeader", "DeadLetterQueueSourceArn",
}

func (in *receiveRequest) check() *apiError {
	outside := func(value *int, low, high int) bool { return value != nil && (*value < low || *value > high) }
	switch {
	case outside(in.MaxNumberOfMessages, 1, maxBatch):
		return errValue(*in.MaxNumberOfMessages, "MaxNumberOfMessages", "Must be between 1 and 10, if provided.")
	case outside(in.WaitTimeSeconds, 0, 20):
		return errValue(*in.WaitTimeSeconds, "WaitTimeSeconds", "Must be >= 0 and <= 20, if provided.")
	case outside(in.VisibilityTimeout, 0, maxVisibilitySeconds):
		return errValue(*in.VisibilityTimeout, "VisibilityTimeout", "Must be between 0 and 43200, if provided.")
	case in.ReceiveRequestAttemptID != nil && !validToken(*in.ReceiveRequestAttemptID):
		return errToken(*in.ReceiveRequestAttemptID, "ReceiveRequestAttemptId")
	}
	for _, name := range in.MessageSystemAttributeNames {
		if !slices.Contains(systemAttributeNames, name) {
			return errUnknownAttribute(name)
		}
	}
	for _, name := range in.AttributeNames {
		// The type of the older parameter also has names of queue attributes, which
		// messages do not have. They have no effect.
		if !slices.Contains(systemAttributeNames, name) && !isQueueAttribute(name) {
			return errUnknownAttribute(name)
		}
	}
	return nil
}

func (s *Server) receiveMessage(c *call, in *receiveRequest) (any, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	deliveries, err := s.receive(c, in)
	if err != nil {
		return nil, err
	}
	c.messages = len(deliveries)
	return &receiveAnswer{in, deliveries}, nil
}

type receiveAnswer struct {
	request    *receiveRequest // says which attributes are wanted
	deliveries []delivery
}

// delivery is one receive of one message, as it was when it happened.
type delivery struct {
	message             *message // as it is now; needs the lock
	content             *content
	handle              string
	received            int
	sent, firstReceived time.Time
	sequence            uint64
	source              string
}

// maxInFlight is the quota of messages in flight, of standard and FIFO queues.
const maxInFlight = 120_000

// receiver is a ReceiveMessage call, in its queue's line of waiting ones.
type receiver struct {
	call       *call
	max        int
	visibility *int   // seconds; nil: the queue's
	attempt    string // its ReceiveRequestAttemptId; "" for none

	// Set under the lock when the receiver stops waiting.
	finished   bool
	deliveries []delivery
	err        error
	done       chan struct{} // closed then; nil while no one waits for it
}

// timeout is for how long messages are hidden that it takes from q.
func (r *receiver) timeout(q *queue) time.Duration {
	if r.visibility != nil {
		return time.Duration(*r.visibility) * time.Second
	}
	return q.settings.visibility
}

func (r *receiver) finish(err error) {
	r.finished, r.err = true, err
	if r.done != nil {
		close(r.done)
	}
}

// receive takes messages, and waits for the first one as long as the request or the queue
// says. Every receiver joins the line, so that receivers are served in the order in which
// they came.
func (s *Server) receive(c *call, in *receiveRequest) ([]delivery, error) {
	r := &receiver{call: c, max: 1, visibility: in.VisibilityTimeout, attempt: aws.ToString(in.ReceiveRequestAttemptID)}
	if in.MaxNumberOfMessages != nil {
		r.max = *in.MaxNumberOfMessages
	}
	_, err := s.on(in.QueueURL, func(q *queue, now time.Time) (any, *apiError) {
		if r.attempt != "" && !q.fifo {
			return nil, errValue(r.attempt, "ReceiveRequestAttemptId", "The request include parameter that is not valid for this queue type.")
		}
		wait := q.settings.wait
		if in.WaitTimeSeconds != nil {
			wait = time.Duration(*in.WaitTimeSeconds) * time.Second
		}
		if wait == 0 && !q.fifo && s.strikesPart(c, EmptyReceive) != nil {
			return nil, nil
		}
		if r.attempt != "" {
			if again, ok := q.receiveAgain(r.attempt, r.timeout(q), now); ok {
				r.deliveries = again
				r.finish(nil)
				return nil, nil
			}
		}
		place := q.waiting.PushBack(r)
		s.serve(q, now)
		if !r.finished && wait > 0 {
			r.done = make(chan struct{})
			s.settle(q, now) // arms the queue's timer
			s.wait(r, wait)
			if !r.finished {
				// Messages that become visible in the last instant are still received.
				now = time.Now()
				s.move(now)
				q.advance(now)
				s.serve(q, now)
			}
		}
		if r.finished {
			return nil, nil
		}
		q.waiting.Remove(place)
		if !q.fifo && wait == 0 && q.inFlightNow >= maxInFlight {
			return nil, modelled("OverLimit", "There are already %d messages in flight.", q.inFlightNow)
		}
		return nil, nil
	})
	switch {
	case err != nil:
		return nil, err
	case !r.finished && c.ctx.Err() != nil:
		return nil, errGone
	}
	return r.deliveries, r.err
}

// wait lets go of the lock until the receiver is finished, its client is gone
// or its time is over.
func (s *Server) wait(r *receiver, limit time.Duration) {
	s.mu.Unlock()
	defer s.mu.Lock()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-r.done:
	case <-r.call.ctx.Done():
	case <-timer.C:
	}
}

// serve gives the queue's visible messages to the waiting receivers, in their order.
func (s *Server) serve(q *queue, now time.Time) {
	for place := q.waiting.Front(); place != nil; place = q.waiting.Front() {
		r := place.Value.(*receiver)
		if r.call.ctx.Err() != nil {
			q.waiting.Remove(place) // its client is gone: it must take nothing
			r.finish(errGone)
			continue
		}
		q.advance(now) // a visibility of 0 brings messages back at once
		if r.deliveries = s.take(q, r, now); len(r.deliveries) == 0 {
			return
		}
		q.waiting.Remove(place)
		if r.attempt != "" {
			q.attempts.remember(r.attempt, newAttempt(r.deliveries), now)
		}
		r.finish(nil)
	}
}

// take receives up to r.max messages. On a FIFO queue it takes as many messages of a group
// as it can before the next group.
func (s *Server) take(q *queue, r *receiver, now time.Time) (taken []delivery) {
	timeout := r.timeout(q)
	var anyOrder *drawn
	if !q.fifo && q.ready.len() > 0 {
		anyOrder = s.strikesPart(r.call, OutOfOrder)
	}
	for len(taken) < r.max && q.inFlightNow < maxInFlight {
		g := q.next(now)
		if g == nil {
			break
		}
		if anyOrder != nil && q.ready.len() > 0 {
			g = q.ready.items[anyOrder.pick(q.ready.len())]
		}
		enough, blocking := len(taken)+1, g.blocking.first() // what this receive takes blocks nothing of it
		if q.fifo {
			enough = min(r.max, len(taken)+maxInFlight-q.inFlightNow)
		}
		for len(taken) < enough && g.messages.len() > 0 && (blocking == nil || g.messages.first().order < blocking.order) {
			at := 0
			if anyOrder != nil {
				at = anyOrder.pick(g.messages.len())
			}
			m := g.messages.remove(at)
			if target := s.deadLetterQueue(q, m); target != nil {
				s.redrive(q, m, target, now)
				continue
			}
			hidden := timeout
			if m.again = !q.fifo && !m.again && s.strikesPart(r.call, DuplicateDelivery) != nil; m.again {
				hidden = 0
			}
			taken = append(taken, q.deliver(m, now, hidden))
		}
		q.refresh(g)
	}
	return taken
}

// deliver puts m, just taken from its group, in flight.
func (q *queue) deliver(m *message, now time.Time, timeout time.Duration) delivery {
	if m.received++; m.received == 1 {
		m.firstReceived = now
	}
	m.receivedHere++
	m.lastReceived = now
	q.hide(m, now, timeout)
	q.observe(Received, m, now)
	return delivery{
		message: m, content: m.content, handle: q.receiptHandle(m), received: m.received,
		sent: m.sent, firstReceived: m.firstReceived, sequence: m.sequence, source: m.source,
	}
}

// arm sets the queue's timer to its next change while someone wants to know.
func (s *Server) arm(q *queue, now time.Time) {
	if q.waiting.Len() == 0 && !q.prompt && q.moving == nil {
		return // a timer that still runs will find nothing to do
	}
	at, ok := q.nextChange()
	if !ok || !q.armed.IsZero() && !at.Before(q.armed) {
		return
	}
	q.armed = at
	if q.timer == nil {
		q.timer = time.AfterFunc(at.Sub(now), func() { s.fire(q) })
		return
	}
	q.timer.Reset(at.Sub(now))
}

func (s *Server) fire(q *queue) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.queues[q.name] != q {
		return
	}
	q.armed = time.Time{}
	now := time.Now()
	s.move(now)
	q.advance(now)
	s.settle(q, now)
}

// shut ends a queue that is deleted or whose server is closed.
func (q *queue) shut(err *apiError) {
	if q.timer != nil {
		q.timer.Stop()
	}
	q.prompt = false
	for place := q.waiting.Front(); place != nil; place = q.waiting.Front() {
		q.waiting.Remove(place)
		place.Value.(*receiver).finish(err)
	}
}

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
