package sqs

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Quotas of dead-letter queue redrive, from the developer guide's "Learn how to configure a
// dead-letter queue redrive" and the page of StartMessageMoveTask.
const (
	maxMoveRate     = 500 // messages per second
	maxActiveMoves  = 100 // tasks of an account
	moveTaskLimit   = 36 * time.Hour
	listedMoveTasks = 10 // tasks that are kept for each queue
)

// moveStatus is a task's status. The service also has CANCELLING; here a cancelled task ends at
// once.
type moveStatus string

const (
	moveRunning   moveStatus = "RUNNING"
	moveCompleted moveStatus = "COMPLETED"
	moveCancelled moveStatus = "CANCELLED"
	moveFailed    moveStatus = "FAILED"
)

// Failure reasons, from the developer guide's "Troubleshoot dead-letter queue and DLQ
// redrive issues".
const (
	reasonNoQueue   = "AWS.SimpleQueueService.NonExistentQueue"
	reasonNoSource  = "CouldNotDetermineMessageSource"
	reasonTimeIsOut = "The task ran for 36 hours."
)

// moveTask moves the messages of a dead-letter queue to another queue, in the order of
// receives, one in each interval. Messages in flight or delayed move when they become visible.
// The task is completed when it has moved as many messages as the queue had at its start, or
// when the queue is empty, so that messages that fail again and come back do not keep the task
// running. AWS does not document the end of a task more exactly.
type moveTask struct {
	id          string
	source      *queue
	destination *queue // nil: each message goes back to its source queue
	rate        *int   // as requested
	interval    time.Duration
	started     time.Time
	next        time.Time // earliest time of the next move
	toMove      int       // number of messages in the queue at the start
	moved       int
	status      moveStatus
	reason      string // failure reason
}

// taskHandle is the content of a TaskHandle, which is base64 of JSON.
type taskHandle struct {
	TaskID    string `json:"taskId"`
	SourceARN string `json:"sourceArn"`
}

func (t *moveTask) handle() string {
	return base64.StdEncoding.EncodeToString(encode(taskHandle{t.id, t.source.arn}))
}

func parseTaskHandle(handle string) (parsed taskHandle, ok bool) {
	text, err := base64.StdEncoding.DecodeString(handle)
	if err != nil || json.Unmarshal(text, &parsed) != nil {
		return taskHandle{}, false
	}
	return parsed, parsed.TaskID != "" && parsed.SourceARN != ""
}

// endMove ends t.
func (s *Server) endMove(t *moveTask, status moveStatus, reason string) {
	t.status, t.reason, t.source.moving = status, reason, nil
	s.moving = slices.DeleteFunc(s.moving, func(other *moveTask) bool { return other == t })
}

// failMoves ends the tasks from or to q, which was deleted.
func (s *Server) failMoves(q *queue) {
	for _, t := range slices.Clone(s.moving) {
		if t.source == q || t.destination == q {
			s.endMove(t, moveFailed, reasonNoQueue)
		}
	}
}

// advanceMoves makes the moves of all tasks that are due. Every operation calls it first, so
// that results do not depend on whether a timer has fired.
func (s *Server) advanceMoves(now time.Time) {
	if len(s.moving) == 0 {
		return
	}
	for _, t := range slices.Clone(s.moving) {
		s.moveDue(t, now)
	}
}

// moveDue makes the moves of t that are due, each at its own time.
func (s *Server) moveDue(t *moveTask, now time.Time) {
	q := t.source
	for t.status == moveRunning {
		at := t.next
		if at.After(now) {
			at = now
		}
		q.advance(at)
		if len(q.messages) == 0 || t.moved == t.toMove {
			s.endMove(t, moveCompleted, "")
			return
		}
		if !at.Before(t.started.Add(moveTaskLimit)) {
			s.endMove(t, moveFailed, reasonTimeIsOut)
			return
		}
		if t.next.After(now) {
			return
		}
		if g := q.next(at); g != nil {
			if reason := s.moveFirst(t, g, at); reason != "" {
				s.endMove(t, moveFailed, reason)
				return
			}
			t.next = at.Add(t.interval)
			continue
		}
		// All remaining messages are hidden, or behind a hidden message of their group. The
		// task tries again when one becomes visible, and at moveTaskLimit.
		t.next = now
		if due := q.hidden.first().due; !due.After(now) {
			t.next = due
		} else if at.Equal(now) {
			return
		} // otherwise the last message may have expired since at
	}
}

// moveFirst moves the first message of g, or returns the failure reason. As the developer guide
// says, it becomes a new message: it has another id, a new enqueue time and retention period,
// and no receives. Body, attributes, trace header, group and deduplication id stay. Moved
// messages are not deduplicated, since a duplicate would be lost.
func (s *Server) moveFirst(t *moveTask, g *group, at time.Time) (failure string) {
	m, target := g.messages.first(), t.destination
	if target == nil {
		if m.source == "" {
			return reasonNoSource // sent to this queue, not dead-lettered
		}
		if target = s.queueByARN(m.source); target == nil {
			return reasonNoQueue
		}
	}
	s.move(t.source, m, target, at)
	t.moved++
	return ""
}

// move makes a message of q a new one of target.
func (s *Server) move(q *queue, m *message, target *queue, at time.Time) {
	renewed := *m.content
	renewed.id = newID()
	var e Event
	if q.observer != nil {
		e = q.event(Moved, m, at)
		e.MovedTo, e.NewMessageID, e.Visibility = target.name, renewed.id, target.settings.delay
	}
	q.forget(m, at)
	s.lastUID++
	target.advance(at)
	target.add(&message{content: &renewed, uid: s.lastUID, sent: at, slot: -1, ageSlot: -1}, at, target.settings.delay)
	s.touched = append(s.touched, target)
	if q.observer != nil {
		q.observer(e, &renewed)
	}
}

// Move moves messages to another queue in the given order, as a message move task does: each is
// a new message there. AWS has no such call. It leaves out messages that are in flight or
// delayed, or that are not in the queue, and returns the number of those that it moved. It
// returns an error if there is no such queue, or if only one of them is a FIFO queue.
func (s *Server) Move(from, to string, messageIDs ...string) (moved int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.catchUp()
	source, target := s.queues[from], s.queues[to]
	switch {
	case source == nil || target == nil:
		return 0, fmt.Errorf("sqs: cannot move messages from queue %q to %q: there is no such queue", from, to)
	case source == target || source.fifo != target.fifo:
		return 0, fmt.Errorf("sqs: cannot move messages from queue %q to %q: they must be two queues of one type", from, to)
	}
	now, byID := time.Now(), map[string]*message{}
	for _, m := range source.messages {
		byID[m.content.id] = m
	}
	for _, id := range messageIDs {
		if m := byID[id]; m != nil && m.state == visible {
			s.move(source, m, target, now)
			delete(byID, id)
			moved++
		}
	}
	s.serveTouched(target, now)
	return moved, nil
}

// nextMove returns the time of t's next step: a move, or the end of its time. A queue whose
// messages are all hidden has its own times (queue.nextChange).
func (t *moveTask) nextMove() time.Time {
	at := t.started.Add(moveTaskLimit)
	if (t.source.ready.len() > 0 || len(t.source.noisy) > 0) && t.next.Before(at) {
		at = t.next
	}
	return at
}

var queueARN = regexp.MustCompile(`^arn:[a-z0-9-]+:sqs:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_.-]{1,80}$`)

type startMoveRequest struct {
	SourceARN                    string `json:"SourceArn"`
	DestinationARN               string `json:"DestinationArn"`
	MaxNumberOfMessagesPerSecond *int
}

func (r *startMoveRequest) queueName() string { return nameIn(r.SourceARN) }

// nameIn returns the queue's name, which ends its ARN and its URL.
func nameIn(arnOrURL string) string { return arnOrURL[strings.LastIndexAny(arnOrURL, ":/")+1:] }

// onARN is like on, for a parameter that is an ARN.
func (s *Server) onARN(parameter, arn string, run func(q *queue, now time.Time) (any, *apiError)) (any, error) {
	if err := s.checkARN(parameter, arn); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed()
	}
	q := s.queueByARN(arn)
	if q == nil {
		return nil, errNoResource(parameter)
	}
	return s.onQueue(q, run)
}

func (s *Server) checkARN(parameter, arn string) *apiError {
	switch {
	case arn == "":
		return errMissing(parameter)
	case !queueARN.MatchString(arn):
		return errValue(arn, parameter, "Must be the ARN of a queue: arn:aws:sqs:<region>:<account>:<name>.")
	}
	return nil
}

func errNoResource(parameter string) *apiError {
	return modelled("ResourceNotFoundException", "The resource that you specified for the %s parameter doesn't exist.", parameter)
}

// startMessageMoveTask starts a task. Without a rate, the task moves maxMoveRate messages per
// second; AWS documents only that the rate is optimized.
func (s *Server) startMessageMoveTask(_ *call, in *startMoveRequest) (any, error) {
	rate, err := bounded(in.MaxNumberOfMessagesPerSecond, "MaxNumberOfMessagesPerSecond", 1, maxMoveRate, maxMoveRate)
	if err != nil {
		return nil, err
	}
	return s.onARN("SourceArn", in.SourceARN, func(q *queue, now time.Time) (any, *apiError) {
		destination, err := s.moveDestination(q, in.DestinationARN)
		switch {
		case err != nil:
			return nil, err
		case len(s.sources(q)) == 0:
			return nil, errInvalidParameter("Source queue must be configured as a Dead Letter Queue.")
		case q.moving != nil:
			return nil, errInvalidParameter("There is already a task running. Only one active task is allowed for a source queue arn at a given time.")
		case len(s.moving) >= maxActiveMoves:
			return nil, modelled("RequestThrottled", "There are already %d active message move tasks.", maxActiveMoves)
		}
		interval := time.Second / time.Duration(rate)
		t := &moveTask{
			id: newID(), source: q, destination: destination, rate: in.MaxNumberOfMessagesPerSecond,
			interval: interval, started: now, next: now.Add(interval), toMove: len(q.messages), status: moveRunning,
		}
		q.moving = t
		q.moves = append(q.moves, t)
		if len(q.moves) > listedMoveTasks {
			q.moves = slices.Delete(q.moves, 0, 1)
		}
		s.moving = append(s.moving, t)
		return struct{ TaskHandle string }{t.handle()}, nil
	})
}

// moveDestination returns the queue of an ARN, nil for "".
func (s *Server) moveDestination(source *queue, arn string) (*queue, *apiError) {
	if arn == "" {
		return nil, nil
	}
	if err := s.checkARN("DestinationArn", arn); err != nil {
		return nil, err
	}
	q := s.queueByARN(arn)
	switch {
	case q == nil:
		return nil, errNoResource("DestinationArn")
	case q == source:
		return nil, errValue(arn, "DestinationArn", "The source and the destination queue must differ.")
	case q.fifo != source.fifo:
		return nil, errValue(arn, "DestinationArn", "The source and the destination queue must be of the same type.")
	}
	return q, nil
}

type listMovesRequest struct {
	SourceARN  string `json:"SourceArn"`
	MaxResults *int
}

func (r *listMovesRequest) queueName() string { return nameIn(r.SourceARN) }

type listedMove struct {
	ApproximateNumberOfMessagesMoved  int
	ApproximateNumberOfMessagesToMove int
	DestinationARN                    string `json:"DestinationArn,omitempty"`
	FailureReason                     string `json:",omitempty"`
	MaxNumberOfMessagesPerSecond      *int   `json:",omitempty"`
	SourceARN                         string `json:"SourceArn"`
	StartedTimestamp                  int64  // milliseconds since 1970
	Status                            moveStatus
	TaskHandle                        string `json:",omitempty"`
}

// listMessageMoveTasks returns the latest tasks first.
func (s *Server) listMessageMoveTasks(_ *call, in *listMovesRequest) (any, error) {
	limit, err := bounded(in.MaxResults, "MaxResults", 1, listedMoveTasks, 1)
	if err != nil {
		return nil, err
	}
	return s.onARN("SourceArn", in.SourceARN, func(q *queue, _ time.Time) (any, *apiError) {
		results := []listedMove{}
		for i := len(q.moves) - 1; i >= 0 && len(results) < limit; i-- {
			results = append(results, q.moves[i].listed())
		}
		return struct{ Results []listedMove }{results}, nil
	})
}

func (t *moveTask) listed() listedMove {
	l := listedMove{
		ApproximateNumberOfMessagesMoved: t.moved, ApproximateNumberOfMessagesToMove: t.toMove,
		FailureReason: t.reason, MaxNumberOfMessagesPerSecond: t.rate, SourceARN: t.source.arn,
		StartedTimestamp: t.started.UnixMilli(), Status: t.status,
	}
	if t.destination != nil {
		l.DestinationARN = t.destination.arn
	}
	if t.status == moveRunning {
		l.TaskHandle = t.handle()
	}
	return l
}

type cancelMoveRequest struct{ TaskHandle string }

func (r *cancelMoveRequest) queueName() string {
	handle, _ := parseTaskHandle(r.TaskHandle)
	return nameIn(handle.SourceARN)
}

// cancelMessageMoveTask ends a task. Moved messages stay in their new queue.
func (s *Server) cancelMessageMoveTask(_ *call, in *cancelMoveRequest) (any, error) {
	if in.TaskHandle == "" {
		return nil, errMissing("TaskHandle")
	}
	handle, ok := parseTaskHandle(in.TaskHandle)
	if !ok {
		return nil, errInvalidParameter("Value for parameter TaskHandle is invalid.")
	}
	return s.onARN("SourceArn", handle.SourceARN, func(q *queue, _ time.Time) (any, *apiError) {
		for _, t := range q.moves {
			if t.id != handle.TaskID {
				continue
			}
			if t.status != moveRunning {
				return nil, modelled("UnsupportedOperation", "The task's status is %s: only a task that is RUNNING can be cancelled.", t.status)
			}
			s.endMove(t, moveCancelled, "")
			return struct{ ApproximateNumberOfMessagesMoved int }{t.moved}, nil
		}
		return nil, modelled("ResourceNotFoundException", "Task does not exist.")
	})
}
