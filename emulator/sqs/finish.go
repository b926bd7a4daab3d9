package sqs

import (
	"encoding/base64"
	"encoding/binary"
	"time"
)

// maxVisibilitySeconds limits a visibility timeout, and also the sum of all timeouts of a
// receive.
const maxVisibilitySeconds = 43_200

type receiptEntry struct {
	ID                string `json:"Id"`
	ReceiptHandle     string
	VisibilityTimeout *int
}

type receiptRequest struct {
	queueRequest
	receiptEntry
}

type receiptBatch struct {
	queueRequest
	Entries []receiptEntry
}

func (s *Server) deleteMessage(c *call, in *receiptRequest) (any, error) {
	return s.finish(c, in, (*queue).delete)
}

func (s *Server) deleteMessageBatch(c *call, in *receiptBatch) (any, error) {
	return s.finishBatch(c, in, (*queue).delete)
}

func (s *Server) changeMessageVisibility(c *call, in *receiptRequest) (any, error) {
	return s.finish(c, in, (*queue).changeVisibility)
}

func (s *Server) changeMessageVisibilityBatch(c *call, in *receiptBatch) (any, error) {
	return s.finishBatch(c, in, func(q *queue, e receiptEntry, now time.Time) *apiError {
		err := q.changeVisibility(e, now)
		if err != nil && err.unavailable {
			// AWS was observed to answer batches with this error, unlike single calls.
			return modelled("ReceiptHandleIsInvalid", unavailable)
		}
		return err
	})
}

func (s *Server) finish(c *call, in *receiptRequest, run func(*queue, receiptEntry, time.Time) *apiError) (any, error) {
	c.messages = 1
	return s.on(in.QueueURL, func(q *queue, now time.Time) (any, *apiError) {
		return nothing{}, run(q, in.receiptEntry, now)
	})
}

func (s *Server) finishBatch(c *call, in *receiptBatch, run func(*queue, receiptEntry, time.Time) *apiError) (any, error) {
	if err := checkBatch(in.Entries, func(e receiptEntry) string { return e.ID }); err != nil {
		return nil, err
	}
	return s.on(in.QueueURL, func(q *queue, now time.Time) (any, *apiError) {
		answer := newBatchAnswer(len(in.Entries))
		for _, e := range in.Entries {
			err := s.entry(c, func() *apiError { return run(q, e, now) })
			answer.add(c, e.ID, batchID(e.ID), err)
		}
		return answer, nil
	})
}

// delete removes a message. On a standard queue a delete with an old receipt handle succeeds
// without effect (API reference, DeleteMessage); so does a delete before the copy of
// DuplicateDelivery was received. A FIFO queue refuses a handle whose visibility timeout is
// over. A second delete succeeds.
func (q *queue) delete(e receiptEntry, now time.Time) *apiError {
	m, latest, err := q.receipt(e.ReceiptHandle)
	switch {
	case err != nil:
		return err
	case m == nil:
		return nil
	case q.fifo && (!latest || m.state != inFlight):
		return errValue(e.ReceiptHandle, "ReceiptHandle", "The receipt handle has expired.")
	case !latest || m.again:
		return nil
	}
	q.forget(m, now)
	q.observe(Deleted, m, now)
	return nil
}

// unavailable is the error of a receipt handle that has no message.
const unavailable = "Message does not exist or is not available for visibility timeout change"

func errUnavailable(handle string) *apiError {
	err := errValue(handle, "ReceiptHandle", unavailable+".")
	err.unavailable = true
	return err
}

// changeVisibility sets the visibility timeout of a message in flight, counted from now. If the
// timeout is over and the message was not received again, the call succeeds without effect on
// a standard queue. The success was recorded on AWS (visibility/late of the conformance
// checks), the missing effect was not: LocalStack's maintainers found it on AWS (2023-11-14,
// pull request 9632 of localstack/localstack).
func (q *queue) changeVisibility(e receiptEntry, now time.Time) *apiError {
	if e.VisibilityTimeout == nil {
		return errMissing("VisibilityTimeout")
	}
	seconds, err := bounded(e.VisibilityTimeout, "VisibilityTimeout", 0, maxVisibilitySeconds, 0)
	if err != nil {
		return err
	}
	m, latest, err := q.receipt(e.ReceiptHandle)
	if err != nil {
		return err
	}
	switch {
	case m == nil || !latest:
		return errUnavailable(e.ReceiptHandle)
	case q.fifo && m.state != inFlight:
		return modelled("MessageNotInflight", "The message of receipt handle %s is not in flight.", e.ReceiptHandle)
	case m.state != inFlight:
		return nil
	}
	due := now.Add(time.Duration(seconds) * time.Second)
	if due.After(m.lastReceived.Add(maxVisibilitySeconds * time.Second)) {
		return errValue(seconds, "VisibilityTimeout", "Total VisibilityTimeout for the message is beyond the limit [43200 seconds]")
	}
	m.due = due
	q.hidden.fix(m.slot)
	q.observe(Visibility, m, now)
	return nil
}

// A receipt handle names one receive of one message: the queue, the message, and the number
// of the receive, so that every receive has a new handle.
const receiptBytes = 3 * 8

// receiptHandle returns the handle of m's latest receive.
func (q *queue) receiptHandle(m *message) string {
	var raw [receiptBytes]byte
	binary.BigEndian.PutUint64(raw[:], q.uid)
	binary.BigEndian.PutUint64(raw[8:], m.uid)
	binary.BigEndian.PutUint64(raw[16:], uint64(m.received))
	var text [receiptBytes * 4 / 3]byte
	base64.StdEncoding.Encode(text[:], raw[:])
	return string(text[:])
}

// receipt returns the message of a handle. m is nil if the message is gone; latest is false if
// the message was received again since. A malformed handle, and a handle of another queue, is
// an error.
func (q *queue) receipt(handle string) (m *message, latest bool, err *apiError) {
	if handle == "" {
		return nil, false, errMissing("ReceiptHandle")
	}
	raw, decodeErr := base64.StdEncoding.DecodeString(handle)
	if decodeErr != nil || len(raw) != receiptBytes || binary.BigEndian.Uint64(raw) != q.uid {
		return nil, false, modelled("ReceiptHandleIsInvalid", "The input receipt handle %q is not a valid receipt handle.", handle)
	}
	m = q.messages[binary.BigEndian.Uint64(raw[8:])]
	if m == nil {
		return nil, false, nil
	}
	return m, binary.BigEndian.Uint64(raw[16:]) == uint64(m.received), nil
}
