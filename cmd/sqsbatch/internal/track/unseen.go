package track

import (
	"fmt"
	"slices"

	"github.com/sqsbatch/sqsbatch/emulator/lambda"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// Filtered takes messages that Lambda deleted because they match none of the event's
// filters. The queue's events of the deletions come before.
func (t *Tracker) Filtered(f lambda.Filtered) {
	t.post(func() {
		for i, v := range f.Verdicts {
			if v.Deleted {
				t.filtered(f.Records[i])
			} else {
				t.emit(Warning{Text: fmt.Sprintf("message %s matches no filter but could not be deleted: %v", f.Records[i].MessageID, v.Err)})
			}
		}
	})
}

func (t *Tracker) filtered(d lambda.Record) {
	m := t.messages[d.MessageID]
	if m == nil {
		return // sent before this tool looked
	}
	if m.removed { // by the event source mapping, as is known only now
		m.settled, m.removed = false, false
		t.progress.Removed--
	}
	t.final(m, m.unlogged(d.Attempt, Filtered, "it matches no filter of the event: deleted, the function never sees it"))
}

// moved: a move task took a message from the source queue, or brought one there.
func (t *Tracker) moved(e sqs.Event) {
	if !t.feeds(e.Queue) && !t.feeds(e.MovedTo) {
		return
	}
	if m := t.messages[e.MessageID]; m != nil && t.feeds(e.Queue) {
		delete(t.alive, m.id)
		if !m.settled {
			m.settled = true
			t.progress.Moved++
		}
	}
	if t.feeds(e.MovedTo) {
		if !t.revive(e) {
			t.progress.Sent++
		}
		m := &message{id: e.NewMessageID, queue: e.MovedTo, body: e.Body, sent: e.Time, due: e.Time.Add(e.Visibility)}
		t.messages[m.id] = m
		t.alive[m.id] = m
	}
	t.emit(e)
}

// feeds says whether the function is fed from the queue.
func (t *Tracker) feeds(queue string) bool { return slices.Contains(t.o.Sources, queue) }

// revive takes a dead letter that came back out of the account, if it is one of
// this run's, by its id or else its body.
func (t *Tracker) revive(e sqs.Event) bool {
	i := slices.IndexFunc(t.dead, func(d Dead) bool { return d.MessageID == e.MessageID })
	if i < 0 {
		i = slices.IndexFunc(t.dead, func(d Dead) bool { return d.Body == e.Body })
	}
	if i < 0 {
		return false
	}
	t.dead = slices.Delete(t.dead, i, i+1)
	t.progress.DeadLettered--
	return true
}
