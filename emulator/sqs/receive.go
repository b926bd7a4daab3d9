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
	_, maxErr := bounded(in.MaxNumberOfMessages, "MaxNumberOfMessages", 1, maxBatch, 1)
	_, visibilityErr := bounded(in.VisibilityTimeout, "VisibilityTimeout", 0, maxVisibilitySeconds, 0)
	switch wait := aws.ToInt(in.WaitTimeSeconds); {
	case maxErr != nil:
		return maxErr
	case wait < 0 || wait > 20:
		return errValue(wait, "WaitTimeSeconds", "Must be >= 0 and <= 20, if provided.")
	case visibilityErr != nil:
		return visibilityErr
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
	request    *receiveRequest // for the requested attributes
	deliveries []delivery
}

// delivery is one receive of one message. The fields are from the time of the receive, except
// message.
type delivery struct {
	message             *message  // current state; guarded by the lock
	due                 time.Time // the message's, for receiveAgain; guarded by the lock
	content             *content
	handle              string
	received            int
	sent, firstReceived time.Time
	sequence            uint64
	source              string
}

// maxInFlight is the quota of messages in flight, of standard and FIFO queues.
const maxInFlight = 120_000

// receiver is a ReceiveMessage call. It is in queue.waiting until it is finished.
type receiver struct {
	call       *call
	max        int
	visibility *int   // seconds; nil: the queue's attribute
	attempt    string // ReceiveRequestAttemptId; "" for none

	// Set under the lock when the receiver stops waiting.
	finished   bool
	deliveries []delivery
	err        error
	done       chan struct{} // closed when finished; nil for a short poll
}

// timeout returns the visibility timeout of the messages that r receives from q.
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

// receive returns messages. It waits for the first one up to the wait time of the request, or of
// the queue. Receivers are served in the order in which they came.
func (s *Server) receive(c *call, in *receiveRequest) ([]delivery, error) {
	r := &receiver{call: c, max: max(aws.ToInt(in.MaxNumberOfMessages), 1), visibility: in.VisibilityTimeout, attempt: aws.ToString(in.ReceiveRequestAttemptID)}
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
			s.serveTouched(q, now) // also sets the queue's timer
			s.wait(r, wait)
			if !r.finished {
				// Messages that become visible in the last instant are still received.
				now = time.Now()
				s.advanceMoves(now)
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

// wait releases the lock until the receiver is finished, the client is gone, or limit is over.
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

// serve gives the queue's visible messages to the waiting receivers, first come, first served.
func (s *Server) serve(q *queue, now time.Time) {
	for place := q.waiting.Front(); place != nil; place = q.waiting.Front() {
		r := place.Value.(*receiver)
		if r.call.ctx.Err() != nil {
			q.waiting.Remove(place) // the client is gone: messages would be lost to it
			r.finish(errGone)
			continue
		}
		q.advance(now) // messages with a visibility timeout of 0 are visible again
		if r.deliveries = s.dequeue(q, r, now); len(r.deliveries) == 0 {
			return
		}
		q.waiting.Remove(place)
		if r.attempt != "" {
			q.attempts.remember(r.attempt, r.deliveries, now)
		}
		r.finish(nil)
	}
}

// dequeue puts up to r.max messages in flight and returns them. On a FIFO queue it returns
// as many messages of a group as possible before the next group.
func (s *Server) dequeue(q *queue, r *receiver, now time.Time) (taken []delivery) {
	if q.paused {
		return nil
	}
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
		enough, blocking := len(taken)+1, g.blocking.first() // messages of this same receive do not block
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

// deliver puts m, which is in no heap, in flight.
func (q *queue) deliver(m *message, now time.Time, timeout time.Duration) delivery {
	if m.received++; m.received == 1 {
		m.firstReceived = now
	}
	m.receivedHere++
	m.lastReceived = now
	q.hide(m, now, timeout)
	q.observe(Received, m, now)
	return delivery{
		message: m, due: m.due, content: m.content, handle: q.receiptHandle(m), received: m.received,
		sent: m.sent, firstReceived: m.firstReceived, sequence: m.sequence, source: m.source,
	}
}

// setTimer sets the queue's timer to its next change, if a receiver, an observer or a move task
// waits for it.
func (s *Server) setTimer(q *queue, now time.Time) {
	if q.waiting.Len() == 0 && !q.prompt && q.moving == nil {
		return // a running timer will have no effect
	}
	at, ok := q.nextChange()
	if !ok || !q.armed.IsZero() && !at.Before(q.armed) {
		return
	}
	q.armed = at
	if q.timer == nil {
		q.timer = time.AfterFunc(at.Sub(now), func() { s.onTimer(q) })
		return
	}
	q.timer.Reset(at.Sub(now))
}

func (s *Server) onTimer(q *queue) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.queues[q.name] != q {
		return
	}
	q.armed = time.Time{}
	now := time.Now()
	s.advanceMoves(now)
	q.advance(now)
	s.serveTouched(q, now)
}

// shut ends the timer and the receivers of a queue that is deleted or whose server is closed.
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

// receiveAgain returns the deliveries of an earlier receive with the same
// ReceiveRequestAttemptId, and restarts the messages' visibility timeout (API reference,
// ReceiveMessage). It does so for five minutes, while all messages are in flight and none was
// changed or deleted. AWS does not document other cases, nor requests with other parameters:
// here the receive is then an ordinary one (ok is false), and parameters other than the
// visibility timeout are ignored.
func (q *queue) receiveAgain(id string, timeout time.Duration, now time.Time) (again []delivery, ok bool) {
	again, ok = q.attempts.find(id, now)
	if !ok || slices.ContainsFunc(again, func(d delivery) bool { return !q.untouched(d) }) {
		return nil, false
	}
	for i := range again {
		m := again[i].message
		m.due, m.lastReceived = now.Add(timeout), now
		again[i].due = m.due
		q.hidden.fix(m.slot)
		q.observe(Visibility, m, now)
	}
	return again, true
}

func (q *queue) untouched(d delivery) bool {
	m := d.message
	return q.messages[m.uid] == m && m.state == inFlight && m.received == d.received && m.due.Equal(d.due)
}
