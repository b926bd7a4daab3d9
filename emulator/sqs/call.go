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
	trace     string // the HTTP header X-Amzn-Trace-Id; "" for none
	queue     string // the queue's name; "" for none
	began     time.Time
	// messages is the number of messages sent, received, or named by receipt handles; failed
	// is the number of those that failed as entries of a batch.
	messages, failed int
	due              []drawn   // faults that may affect the call
	struck           FaultKind // kind of the last fault that affected the call
	failure          *apiError // a fault's error, the answer after the call was carried out; nil: none
}

// operation decodes requests and carries them out.
type operation struct {
	request func() any
	run     func(*Server, *call, any) (any, error)
}

// handle returns an operation that is carried out by a method.
func handle[In any](run func(*Server, *call, *In) (any, error)) operation {
	return operation{
		request: func() any { return new(In) },
		run:     func(s *Server, c *call, in any) (any, error) { return run(s, c, in.(*In)) },
	}
}

// queueRequest is embedded in requests that name their queue by URL.
type queueRequest struct {
	QueueURL string `json:"QueueUrl"`
}

func (r *queueRequest) queueName() string { return nameIn(r.QueueURL) }

// call decodes a request, carries it out under the injected faults, adds it to the history
// and notifies the observer.
func (s *Server) call(r *http.Request, name string, body []byte) (any, error) {
	op := operations[name]
	c := &call{ctx: r.Context(), operation: name, trace: r.Header.Get("X-Amzn-Trace-Id"), began: time.Now()}
	answer, err := s.carryOut(c, op, body)
	s.report(c, err)
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

// on runs an operation on the queue of a URL, under the lock and with the queue's state
// updated to now. Then it serves waiting receivers.
func (s *Server) on(url string, run func(q *queue, now time.Time) (any, *apiError)) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.find(url)
	if err != nil {
		return nil, err
	}
	return s.onQueue(q, run)
}

// onQueue is like on, for a queue instead of a URL. The caller holds the lock.
func (s *Server) onQueue(q *queue, run func(q *queue, now time.Time) (any, *apiError)) (any, error) {
	now := time.Now()
	s.advanceMoves(now)
	q.advance(now)
	answer, err := run(q, now)
	s.serveTouched(q, time.Now()) // a receive may have waited
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// serveTouched gives visible messages to the waiting receivers of q and of the queues that
// gained messages. The queues' move tasks get the remaining messages. It also sets the timers.
func (s *Server) serveTouched(q *queue, now time.Time) {
	s.touched = append(s.touched, q)
	for len(s.touched) > 0 {
		next := s.touched[len(s.touched)-1]
		s.touched = s.touched[:len(s.touched)-1]
		s.serve(next, now)
		if next.moving != nil {
			s.moveDue(next.moving, now)
		}
		s.setTimer(next, now)
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

// operations are all operations of the service, by their names in X-Amz-Target.
var operations map[string]operation

// The variable's initial value would be an initialization cycle, because some operations use
// the names of operations.
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
