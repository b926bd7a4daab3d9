package sqs

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"time"
)

// Quotas of dead-letter queue redrive, from the developer guide's "Learn how to configure a
// dead-letter queue redrive" and the page of StartMessageMoveTask.
const (
	maxMoveRate     = 500 // messages per second
	maxActiveMoves  = 100 // tasks of an account
	moveTaskLimit   = 36 * time.Hour
	listedMoveTasks = 10 // tasks of a queue that are remembered
)

// moveStatus is a task's status. The service's CANCELLING is never seen here:
// a task ends at once when it is cancelled.
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

// moveTask moves the messages of a dead-letter queue elsewhere, in the order of receives,
// one in each interval. Messages in flight or delayed move when they become visible. The
// task is completed when it has moved as many messages as the queue had at its start, or
// when the queue is empty. AWS does not document more exactly when a task ends. So messages
// that fail again and come back while it runs do not keep it running.
type moveTask struct {
	id          string
	source      *queue
	destination *queue // nil: each message goes back to where it came from
	rate        *int   // as requested
	interval    time.Duration
	started     time.Time
	next        time.Time // before this, no message may move
	toMove      int
	moved       int
	status      moveStatus
	reason      string
}

// taskHandle is what a TaskHandle has inside, as base64 of JSON.
type taskHandle struct {
	TaskID    string `json:"taskId"`
	SourceARN string `json:"sourceArn"`
}

func (t *moveTask) handle() string {
	return base64.StdEncoding.EncodeToString([]byte(mustJSON(taskHandle{t.id, t.source.arn})))
}

func parseTaskHandle(handle string) (parsed taskHandle, ok bool) {
	text, err := base64.StdEncoding.DecodeString(handle)
	if err != nil || json.Unmarshal(text, &parsed) != nil {
		return taskHandle{}, false
	}
	return parsed, parsed.TaskID != "" && parsed.SourceARN != ""
}

// begin makes t its source's active task.
func (s *Server) begin(t *moveTask) {
	q := t.source
	q.moving = t
	q.moves = append(q.moves, t)
	if len(q.moves) > listedMoveTasks {
		q.moves = slices.Delete(q.moves, 0, 1)
	}
	s.moving = append(s.moving, t)
}

// end makes t a task that is over.
func (s *Server) end(t *moveTask, status moveStatus, reason string) {
	t.status, t.reason, t.source.moving = status, reason, nil
	s.moving = slices.DeleteFunc(s.moving, func(other *moveTask) bool { return other == t })
}

// endMoves ends the tasks that cannot go on without a queue that is deleted.
func (s *Server) endMoves(q *queue) {
	for _, t := range slices.Clone(s.moving) {
		if t.source == q || t.destination == q {
			s.end(t, moveFailed, reasonNoQueue)
		}
	}
}

// move brings all tasks up to now. Every operation calls it first, so that it
// finds messages where they ought to be, whether the timer has fired or not.
func (s *Server) move(now time.Time) {
	if len(s.moving) == 0 {
		return
	}
	for _, t := range slices.Clone(s.moving) {
		s.carryOn(t, now)
	}
}

// carryOn moves the messages that are due by now.
func (s *Server) carryOn(t *moveTask, now time.Time) {
	q := t.source
	for t.status == moveRunning {
		at := t.next
		if at.After(now) {
			at = now
		}
		q.advance(at)
		if len(q.messages) == 0 || t.moved == t.toMove {
			s.end(t, moveCompleted, "")
			return
		}
		if !at.Before(t.started.Add(moveTaskLimit)) {
			s.end(t, moveFailed, reasonTimeIsOut)
			return
		}
		if t.next.After(now) {
			return
		}
		if g := q.next(at); g != nil {
			if reason := s.moveFirst(t, g, at); reason != "" {
				s.end(t, moveFailed, reason)
				return
			}
			t.next = at.Add(t.interval)
			continue
		}
		// All remaining messages are hidden, or behind a hidden one of their group. The
		// task tries again when that changes, and at the end of its time.
		t.next = now
		if due := q.hidden.first().due; !due.After(now) {
			t.next = due
		} else if now.Before(t.started.Add(moveTaskLimit)) {
			return
		}
	}
}

// moveFirst moves the first message of g. As the developer guide says, it becomes a new
// message: it has another id, a new enqueue time and retention period, and no receives.
// Body, attributes, trace header, group and deduplication id stay. It is not compared with
// earlier sends, since a moved message that is taken for a duplicate would be lost.
func (s *Server) moveFirst(t *moveTask, g *group, at time.Time) (failure string) {
	q, m := t.source, g.messages.first()
	target := t.destination
	if target == nil {
		if m.source == "" {
			return reasonNoSource // it was sent to this queue, not redriven
		}
		if target = s.queueByARN(m.source); target == nil {
			return reasonNoQueue
		}
	}
	renewed := *m.content
	renewed.id = newID()
	var e Event
	if q.observer != nil {
		e = q.event(Moved, m, at)
		e.MovedTo, e.NewMessageID = target.name, renewed.id
	}
	q.forget(m, at)
	s.lastUID++
	target.advance(at)
	target.add(&message{content: &renewed, uid: s.lastUID, sent: at, slot: -1, ageSlot: -1}, at, target.settings.delay)
	t.moved++
	s.touched = append(s.touched, target)
	if q.observer != nil {
		q.observer(e, &renewed)
	}
	return ""
}

// nextMove returns when the queue's active task next has something to do that
// no change of the queue brings about.
func (t *moveTask) nextMove() time.Time {
	at := t.started.Add(moveTaskLimit)
	if (t.source.ready.len() > 0 || len(t.source.noisy) > 0) && t.next.Before(at) {
		at = t.next
	}
	return at
}
