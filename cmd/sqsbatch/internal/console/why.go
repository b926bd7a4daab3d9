package console

import (
	"fmt"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/track"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// A reason says why a message is where it is. Until is when that changes by itself, if it does.
type reason struct {
	Text    string
	Message *message // that the text is about, nil for none
	Until   time.Time
}

// why says why a message does not move, or where it went.
func (m *model) why(x *message, policy redrive, at time.Time) reason {
	switch x.now(at) {
	case gone:
		return reason{Text: x.whyGone(), Message: m.messages[x.movedTo]}
	case delayed:
		return reason{Text: "It was sent with a delay, and can be received once that is over.", Until: x.due}
	case inFlight:
		return x.whyInFlight(policy)
	}
	if x.origin != nil {
		text := fmt.Sprintf("The consumer of queue %s sent it here after %s: %s", x.deadOf, show.Count(x.origin.Attempts, "attempt"), orNoReason(x.origin.Reason))
		return reason{Text: text, Message: m.messages[x.origin.MessageID]}
	}
	if x.deadOf != "" {
		return reason{Text: x.whyDead()}
	}
	if policy.Paused {
		return reason{Text: "It can be received, but receives of this queue are paused on this page."}
	}
	return m.whyVisible(x, at)
}

func (x *message) whyGone() string {
	s, _ := x.lastStep(sqs.Deleted, sqs.Expired, sqs.Purged, sqs.Moved)
	switch s.kind {
	case sqs.Moved:
		return "A replay moved it to queue " + s.to + ", where it is a new message."
	case sqs.Expired:
		return "Its retention ended: SQS deleted it, and nobody handled it."
	case sqs.Purged:
		return "The queue was purged."
	}
	a := x.last()
	switch {
	case a == nil:
		return "A consumer deleted it " + ordinal("attempt", x.received) + "."
	case a.Outcome == track.Succeeded:
		return fmt.Sprintf("It succeeded at attempt %d, and was deleted.", a.Attempt)
	case a.Reason != "":
		return fmt.Sprintf("It is gone after attempt %d (%s): %s", a.Attempt, a.Outcome, a.Reason)
	}
	return fmt.Sprintf("It is gone after attempt %d: %s.", a.Attempt, a.Outcome)
}

func (x *message) whyDead() string {
	s, _ := x.lastStep(sqs.Redriven)
	text := fmt.Sprintf("SQS moved it here from queue %s after %s: as often as maxReceiveCount allows.", x.deadOf, show.Count(s.count, "receive"))
	if a := x.lastFailure(); a != nil {
		text += fmt.Sprintf(" Attempt %d ended as %s: %s", a.Attempt, a.Outcome, orNoReason(a.Reason))
	}
	return text
}

// lastFailure returns the latest attempt with a reason. The end by SQS itself is none.
func (x *message) lastFailure() *attempt {
	for i := len(x.attempts) - 1; i >= 0; i-- {
		if a := &x.attempts[i]; a.Reason != "" && a.Outcome != track.DeadLetter {
			return a
		}
	}
	return x.last()
}

func orNoReason(text string) string {
	if text == "" {
		return "no reason is known."
	}
	return text
}

func (x *message) whyInFlight(policy redrive) reason {
	left := policy.left(x.received)
	if at := policy.earliest(x.due, x.received); !at.IsZero() && policy.Max > x.received {
		left += fmt.Sprintf(" That is at %s at the earliest.", at.Local().Format("15:04:05"))
	}
	a := x.last()
	changed, ok := x.lastStep(sqs.Received, sqs.Visibility)
	if a != nil && a.Attempt == x.received && !a.Done() && ok && changed.kind == sqs.Visibility {
		return reason{Text: fmt.Sprintf("Attempt %d failed (%s): %s It waits for its backoff. %s", a.Attempt, a.Outcome, sentence(a.Reason), left), Until: x.due}
	}
	if a != nil && a.Attempt == x.received && !a.Done() {
		return reason{Text: fmt.Sprintf("Attempt %d ended as %s: %s It comes back when its visibility timeout ends. %s", a.Attempt, a.Outcome, sentence(a.Reason), left), Until: x.due}
	}
	return reason{Text: fmt.Sprintf("A consumer has it %s. It comes back if the consumer neither deletes nor extends it. %s", ordinal("attempt", x.received), left), Until: x.due}
}

func sentence(text string) string {
	text = strings.TrimSpace(orNoReason(text))
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text
}

// whyVisible is for a message that can be received.
func (m *model) whyVisible(x *message, at time.Time) reason {
	q := m.queue(x.queue)
	if first := q.ahead(x, at); first != nil {
		if first.now(at) == inFlight {
			return reason{Text: fmt.Sprintf("It is behind another message of its group %s, which is in flight.", x.group), Message: first, Until: first.due}
		}
		return reason{Text: fmt.Sprintf("It is behind another message of its group %s, which has to be received first.", x.group), Message: first}
	}
	if q.lastError != "" && q.lastReceive.After(x.due) {
		return reason{Text: "It can be received, but the last ReceiveMessage failed with " + q.lastError + "."}
	}
	switch {
	case !q.receivedOnce:
		return reason{Text: "It can be received, but no consumer has called ReceiveMessage on this queue."}
	case !q.lastReceive.After(x.due) && at.Sub(x.due) > time.Second:
		return reason{Text: fmt.Sprintf("It can be received, but no consumer has called ReceiveMessage since %s.", clock(q.lastReceive))}
	}
	if x.fifo() {
		return reason{Text: "It can be received: no message of its group is ahead of it."}
	}
	n := 0
	for _, other := range q.messages {
		if other.now(at) == visible && (other.due.Before(x.due) || other.due.Equal(x.due) && other.number < x.number) {
			n++
		}
	}
	if n == 0 {
		return reason{Text: "It can be received. It is the next one."}
	}
	return reason{Text: fmt.Sprintf("It can be received, after %s.", show.Count(n, "other message"))}
}

// ahead returns the first message of the group of a message in a FIFO queue, nil if that is
// the message itself.
func (q *queue) ahead(x *message, at time.Time) (first *message) {
	if !x.fifo() {
		return nil // a group of a fair queue has no order
	}
	for _, other := range q.messages {
		if other.group == x.group && other.number < x.number && (first == nil || other.number < first.number || first.now(at) != inFlight && other.now(at) == inFlight) {
			first = other
		}
	}
	return first
}

func (x *message) fifo() bool { return strings.HasSuffix(x.queue, ".fifo") }

// A redrive is what a queue's RedrivePolicy says. The zero redrive is none.
type redrive struct {
	Queue  string // the dead-letter queue's name
	Max    int
	Paused bool            // receives of the queue get nothing
	Delays []time.Duration // the least times after each failure, nil if they are not known
}

// earliest is when SQS moves a message to the dead-letter queue if each attempt fails at once, zero
// if that is not known.
func (r redrive) earliest(due time.Time, received int) time.Time {
	if len(r.Delays) == 0 || received < 1 || received > r.Max {
		return time.Time{}
	}
	for _, d := range r.Delays[min(received, len(r.Delays)):] {
		due = due.Add(d)
	}
	return due
}

// left says what a failure leads to, after a number of receives.
func (r redrive) left(received int) string {
	switch n := r.Max - received; {
	case r.Max == 0:
		return "The queue has no dead-letter queue: it is retried until its retention ends."
	case n <= 0:
		return fmt.Sprintf("This is the last of %s: if it fails, SQS moves it to %s.", show.Count(r.Max, "attempt"), r.Queue)
	default:
		return fmt.Sprintf("%s left, then SQS moves it to %s.", show.Count(n, "attempt"), r.Queue)
	}
}

func ordinal(noun string, n int) string { return fmt.Sprintf("at %s %d", noun, n) }

func clock(at time.Time) string { return at.Local().Format("15:04:05.000") }
