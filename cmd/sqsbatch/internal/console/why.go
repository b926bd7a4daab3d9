package console

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/track"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// A phase is what a message waits for, or how it left its queue.
type phase string

const (
	ready     phase = "visible"
	behind    phase = "behind its group" // visible, but another message of its group is first; of lists only
	exhausted phase = "no receive left"  // visible; the next receive moves it to the dead-letter queue
	deadLeft  phase = "dead letter"
	waiting   phase = "delayed"
	held      phase = "in flight"
	failed    phase = "failed"  // in flight until its visibility timeout ends
	backoff   phase = "backoff" // in flight until the backoff is over
)

// phases are those of messages in queues.
var phases = []phase{ready, held, backoff, failed, waiting, exhausted, deadLeft}

// phase returns the phase of a message. One that has left its queue has the kind of its last event.
func (x *message) phase(policy redrive, at time.Time) phase {
	switch x.now(at) {
	case gone:
		return phase(x.left().kind)
	case delayed:
		return waiting
	case inFlight:
		a := x.last()
		if a == nil || a.Attempt != x.received || a.Done() {
			return held
		}
		changed, _ := x.lastStep(sqs.Received, sqs.Visibility)
		if changed.kind == sqs.Visibility && a.Outcome != track.CutOff && a.Outcome != track.Abandoned {
			return backoff // a heartbeat changes the visibility, too, but of a record that runs
		}
		return failed
	}
	switch {
	case policy.Max > 0 && x.receivedHere >= policy.Max:
		return exhausted
	case policy.isDead(x):
		return deadLeft
	}
	return ready
}

// left is the event with which a message left its queue.
func (x *message) left() step {
	s, _ := x.lastStep(sqs.Deleted, sqs.Expired, sqs.Purged, sqs.Moved)
	return s
}

// A reason says why a message is where it is. Until is when that changes by itself, if it does.
type reason struct {
	Text    string
	Message *message // that the text is about, nil for none
	Until   time.Time
}

// why says why a message does not move, or where it went.
func (m *model) why(x *message, policy redrive, at time.Time) reason {
	left := policy.left(x.receivedHere)
	switch p := x.phase(policy, at); p {
	case waiting:
		return reason{Text: "It was sent with a delay, and can be received once that is over.", Until: x.due}
	case held:
		if b := m.runs(x); b != nil {
			text := fmt.Sprintf("Invocation %d has it since %s, with %s", b.number, clock(b.began), show.Count(len(b.records)-1, "other record"))
			if m.timeout > 0 {
				text += fmt.Sprintf(", and ends by %s at the latest", clock(b.began.Add(m.timeout)))
			}
			return reason{Text: text + fmt.Sprintf(". This is attempt %d. %s", x.received, left)}
		}
		return reason{Text: fmt.Sprintf("A consumer has it at attempt %d. It comes back if the consumer neither deletes it nor extends its visibility timeout. %s", x.received, left), Until: x.due}
	case failed, backoff:
		text := fmt.Sprintf("Attempt %d ended as %s: %s ", x.received, x.last().Outcome, sentence(x.last().Reason))
		if p == backoff {
			text += "It waits for its backoff. "
		} else {
			text += "It comes back when its visibility timeout ends. "
		}
		return reason{Text: text + left, Until: x.due}
	case exhausted:
		return reason{Text: fmt.Sprintf("It has used all %s. The next ReceiveMessage moves it to %s.", show.Count(policy.Max, "receive"), policy.Queue)}
	case deadLeft:
		return m.whyDead(x)
	case ready:
		return m.whyVisible(x, policy, at)
	}
	return m.whyGone(x)
}

// runs returns the invocation that runs with a message now, nil if there is none.
func (m *model) runs(x *message) *invocation {
	for _, b := range slices.Backward(m.batches) {
		if b.ended == nil && slices.Contains(b.records, x.id) {
			return b
		}
	}
	return nil
}

func (m *model) whyGone(x *message) reason {
	r := reason{Message: m.messages[x.movedTo]}
	a := x.last()
	switch s := x.left(); {
	case s.kind == sqs.Moved:
		r.Text = "A replay moved it to queue " + s.to + ", where it is a new message."
	case s.kind == sqs.Expired && x.received > 0:
		r.Text = fmt.Sprintf("Its retention ended after %s: SQS deleted it.", show.Count(x.received, "receive"))
	case s.kind == sqs.Expired:
		r.Text = "Its retention ended: SQS deleted it, and nobody had received it."
	case s.kind == sqs.Purged:
		r.Text = "Its queue was purged or deleted."
	case a == nil:
		r.Text = fmt.Sprintf("A consumer deleted it at attempt %d.", x.received)
	case a.Outcome == track.Succeeded:
		r.Text = fmt.Sprintf("It succeeded at attempt %d, and was deleted.", a.Attempt)
	case a.Outcome == track.DeadLetter:
		r.Text = fmt.Sprintf("The consumer sent it to the dead-letter queue after attempt %d: %s", a.Attempt, sentence(a.Reason))
	default:
		r.Text = fmt.Sprintf("It is gone after attempt %d, which ended as %s: %s", a.Attempt, a.Outcome, sentence(a.Reason))
	}
	return r
}

func (m *model) whyDead(x *message) reason {
	if o := x.origin; o != nil {
		return reason{Text: fmt.Sprintf("The consumer of queue %s sent it here after %s: %s", x.deadOf, show.Count(o.Attempts, "attempt"), sentence(o.Reason)), Message: m.messages[o.MessageID]}
	}
	s, moved := x.lastStep(sqs.Redriven)
	if !moved {
		return reason{Text: "It is in a dead-letter queue, and nothing in it says where it came from: it was sent here by hand, or the attribute with its origin did not fit."}
	}
	text := fmt.Sprintf("SQS moved it here from queue %s after %s, as many as maxReceiveCount allows.", x.deadOf, show.Count(s.count, "receive"))
	if a := x.lastFailure(); a != nil {
		text += fmt.Sprintf(" Attempt %d ended as %s: %s", a.Attempt, a.Outcome, sentence(a.Reason))
	}
	return reason{Text: text}
}

// lastFailure returns the latest attempt of a handler, nil if there is none. That SQS moved the
// message is no attempt.
func (x *message) lastFailure() *attempt {
	for i := len(x.attempts) - 1; i >= 0; i-- {
		if a := &x.attempts[i]; a.Outcome != track.DeadLetter {
			return a
		}
	}
	return x.last()
}

// sentence ends a text with a full stop.
func sentence(text string) string {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return "no reason is known."
	case !strings.HasSuffix(text, "."):
		text += "."
	}
	return text
}

// whyVisible is for a message that can be received.
func (m *model) whyVisible(x *message, policy redrive, at time.Time) reason {
	if policy.Paused {
		return reason{Text: "It can be received, but receives of this queue are paused on this page."}
	}
	q := m.queue(x.queue)
	if first := q.ahead(x, at); first != nil {
		if first.now(at) == inFlight {
			return reason{Text: fmt.Sprintf("It is behind another message of its group %s, which is in flight.", x.group), Message: first, Until: first.due}
		}
		return reason{Text: fmt.Sprintf("It is behind another message of its group %s, which has to be received first.", x.group), Message: first}
	}
	switch {
	case q.lastReceive.IsZero():
		return reason{Text: "It can be received, but no consumer has called ReceiveMessage on this queue."}
	case q.lastError != "" && q.lastReceive.After(x.due):
		return reason{Text: "It can be received, but the last ReceiveMessage failed with " + q.lastError + "."}
	case !q.lastReceive.After(x.due) && at.Sub(x.due) > time.Second:
		return reason{Text: fmt.Sprintf("It can be received, but no consumer has called ReceiveMessage since %s.", clock(q.lastReceive))}
	case x.fifo():
		return reason{Text: "It can be received: no message of its group is ahead of it."}
	}
	n := 0
	for _, other := range q.messages {
		if other.phase(policy, at) == ready && (other.due.Before(x.due) || other.due.Equal(x.due) && other.number < x.number) {
			n++
		}
	}
	if n == 0 {
		return reason{Text: "It can be received. It is the next one."}
	}
	return reason{Text: fmt.Sprintf("It can be received, after %s.", show.Count(n, "other message"))}
}

// ahead returns a message of the group of x that has to be received or handled before it, nil for
// none: one in flight if there is one, the first of them.
func (q *queue) ahead(x *message, at time.Time) (first *message) {
	if !x.fifo() {
		return nil // a group of a fair queue has no order
	}
	for _, other := range q.messages {
		if other.group != x.group || other.number >= x.number {
			continue
		}
		better := first == nil || other.number < first.number
		if first != nil && (first.now(at) == inFlight) != (other.now(at) == inFlight) {
			better = other.now(at) == inFlight
		}
		if better {
			first = other
		}
	}
	return first
}

func (x *message) fifo() bool { return strings.HasSuffix(x.queue, ".fifo") }

// A redrive is what matters here of a queue: its RedrivePolicy, and whether its receives are paused.
type redrive struct {
	Queue  string // the dead-letter queue's name, "" for none
	Max    int    // maxReceiveCount, 0 without a dead-letter queue
	Paused bool
	// Sources are the queues whose dead-letter queue it is.
	Sources []string
}

// isDead reports whether a message of the queue is a dead letter.
func (r redrive) isDead(x *message) bool { return x.deadOf != "" || len(r.Sources) > 0 }

// source is the queue that a dead letter of the queue belongs to, "" if that is not known.
func (r redrive) source(x *message) string {
	if x.deadOf == "" && len(r.Sources) == 1 {
		return r.Sources[0]
	}
	return x.deadOf
}

// left says what a failure leads to, after a number of receives.
func (r redrive) left(received int) string {
	switch n := r.Max - received; {
	case r.Max == 0:
		return "The queue has no dead-letter queue: a failure is retried until its retention ends."
	case n <= 0:
		return fmt.Sprintf("This was the last of %s: after a failure SQS moves it to %s.", show.Count(r.Max, "receive"), r.Queue)
	default:
		return fmt.Sprintf("%s left before SQS moves it to %s.", show.Count(n, "receive"), r.Queue)
	}
}

func clock(at time.Time) string { return at.Local().Format("15:04:05.000") }

// bySent sorts messages by their numbers.
func bySent(list []*message) []*message {
	slices.SortFunc(list, func(a, b *message) int { return a.number - b.number })
	return list
}
