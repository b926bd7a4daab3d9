package sqs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"
	"unicode/utf8"
)

// call is one request for an operation, from its decoding to its answer.
type call struct {
	ctx       context.Context
	operation string
	trace     string // its HTTP header X-Amzn-Trace-Id; "" for none
	queue     string // name of the queue that it is about; "" for none
	began     time.Time
	// messages is how many were sent, received, or named by receipt handles;
	// failed is how many of these were refused in a batch.
	messages, failed int
	due              []drawn // faults whose turn it is to strike the call
	struck           FaultKind
	failure          *apiError // that a fault answers with after the call was carried out
}

// operation knows how to decode a request and how to carry it out.
type operation struct {
	request func() any
	run     func(*Server, *call, any) (any, error)
}

// handle makes an operation of a method that takes the decoded request.
func handle[In any](run func(*Server, *call, *In) (any, error)) operation {
	return operation{
		request: func() any { return new(In) },
		run:     func(s *Server, c *call, in any) (any, error) { return run(s, c, in.(*In)) },
	}
}

// queueRequest is the part of a request that names its queue by URL.
type queueRequest struct {
	QueueURL string `json:"QueueUrl"`
}

func (r *queueRequest) queueName() string { return nameIn(r.QueueURL) }

// call decodes a request, carries it out under the faults that are injected,
// keeps it in the history and tells who observes.
func (s *Server) call(r *http.Request, name string, body []byte) (any, error) {
	op := operations[name]
	c := &call{ctx: r.Context(), operation: name, trace: r.Header.Get("X-Amzn-Trace-Id"), began: time.Now()}
	answer, err := s.carryOut(c, op, body)
	s.answered(c, err)
	return answer, err
}

func (s *Server) carryOut(c *call, op operation, body []byte) (any, error) {
	in, err := op.read(body)
	if err != nil {
		return nil, err
	}
	if about, ok := in.(interface{ queueName() string }); ok {
		c.queue = about.queueName()
	}
	if err := s.strikeBefore(c); err != nil {
		return nil, err
	}
	answer, err := op.run(s, c, in)
	if errors.Is(err, errGone) {
		return nil, err
	}
	if s.strikes(c, c.due, LostAnswer) != nil {
		return nil, errLostAnswer
	}
	if c.failure != nil {
		return nil, c.failure
	}
	return answer, err
}

// on carries out an operation on the queue of a URL, under the lock and with the queue's
// state updated to now. Then it serves the receivers that wait for the result.
func (s *Server) on(url string, run func(q *queue, now time.Time) (any, *apiError)) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.find(url)
	if err != nil {
		return nil, err
	}
	return s.onQueue(q, run)
}

// onQueue is on for a queue that was found already; the caller holds the lock.
func (s *Server) onQueue(q *queue, run func(q *queue, now time.Time) (any, *apiError)) (any, error) {
	now := time.Now()
	s.move(now)
	q.advance(now)
	answer, err := run(q, now)
	s.settle(q, time.Now()) // a receive may have waited
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// settle serves the receivers that wait for messages that have become visible, on q and on
// the queues to which messages were moved. Then it lets q's move task take the rest.
func (s *Server) settle(q *queue, now time.Time) {
	s.touched = append(s.touched, q)
	for len(s.touched) > 0 {
		next := s.touched[len(s.touched)-1]
		s.touched = s.touched[:len(s.touched)-1]
		s.serve(next, now)
		if next.moving != nil {
			s.carryOn(next.moving, now)
		}
		s.arm(next, now)
	}
}

func decode(body []byte, in any) error {
	body = bytes.TrimSpace(body)
	if len(body) == 0 {
		return nil // a request without parameters
	}
	if body[0] != '{' {
		return errMalformed("The request body is not a JSON object.")
	}
	if !utf8.Valid(body) {
		return errMalformed("The request body is not UTF-8.")
	}
	if err := json.Unmarshal(body, in); err != nil {
		return errMalformed("The request body could not be decoded: %v.", err)
	}
	return nil
}

// operations has every operation of the service by its name in X-Amz-Target.
var operations map[string]operation

// Some operations need the names of operations, so this cannot be the variable's initial
// value.
func init() {
	operations = map[string]operation{
		"AddPermission":                handle((*Server).addPermission),
		"CancelMessageMoveTask":        handle((*Server).cancelMessageMoveTask),
		"ChangeMessageVisibility":      handle((*Server).changeMessageVisibility),
		"ChangeMessageVisibilityBatch": handle((*Server).changeMessageVisibilityBatch),
		"CreateQueue":                  handle((*Server).createQueue),
		"DeleteMessage":                handle((*Server).deleteMessage),
		"DeleteMessageBatch":           handle((*Server).deleteMessageBatch),
		"DeleteQueue":                  handle((*Server).deleteQueue),
		"GetQueueAttributes":           handle((*Server).getQueueAttributes),
		"GetQueueUrl":                  handle((*Server).getQueueURL),
		"ListDeadLetterSourceQueues":   handle((*Server).listDeadLetterSourceQueues),
		"ListMessageMoveTasks":         handle((*Server).listMessageMoveTasks),
		"ListQueueTags":                handle((*Server).listQueueTags),
		"ListQueues":                   handle((*Server).listQueues),
		"PurgeQueue":                   handle((*Server).purgeQueue),
		"ReceiveMessage":               handle((*Server).receiveMessage),
		"RemovePermission":             handle((*Server).removePermission),
		"SendMessage":                  handle((*Server).sendMessage),
		"SendMessageBatch":             handle((*Server).sendMessageBatch),
		"SetQueueAttributes":           handle((*Server).setQueueAttributes),
		"StartMessageMoveTask":         handle((*Server).startMessageMoveTask),
		"TagQueue":                     handle((*Server).tagQueue),
		"UntagQueue":                   handle((*Server).untagQueue),
	}
}

// nothing is the answer of operations that return no data.
type nothing struct{}
