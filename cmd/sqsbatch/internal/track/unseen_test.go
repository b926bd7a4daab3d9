package track_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/track"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// TestFiltered: a message that the event source mapping deleted because of its
// filters is no success, and not one that somebody else removed.
func TestFiltered(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.event(sqs.Sent, "a", 0, 0)
		b.event(sqs.Sent, "b", 0, 0)
		b.AllSent()
		for _, id := range []string{"a", "b"} {
			b.event(sqs.Received, id, 1, time.Minute)
			b.event(sqs.Deleted, id, 1, 0)
		}
		synctest.Wait() // the mapping tells it later than the queue
		b.Filtered([]track.Delivery{{MessageID: "a", Body: body("a"), Attempt: 1}, {MessageID: "unknown"}})
		<-b.Done()
		want(t, "finals", b.finals(), []string{"a filtered"})
		if r := b.last(); !r.Done() || r.Invocation != 0 || r.Attempt != 1 || r.Body != body("a") || r.Reason == "" {
			t.Errorf("%+v", r)
		}
		want(t, "progress", b.Progress(), track.Progress{Sent: 2, Filtered: 1, Removed: 1})
	})
}

// move has a message move task take the message id, with the given body, from
// one queue to another.
func (b *bench) move(id, body, from, to, newID string) {
	b.Queue(sqs.Event{Time: time.Now(), Kind: sqs.Moved, Queue: from, MessageID: id, Body: body, MovedTo: to, NewMessageID: newID})
}

// TestMovedBack: a dead letter that comes back, with another id, is the same
// message in the account: the one that SQS redrove, and the one that the
// toolkit had sent to the dead-letter queue.
func TestMovedBack(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.invoke("r1", 1, "a", "b")
		b.record("r1", "a", `"outcome":"dead-letter","reason":"unknown sku","deadLetterQueue":"http://h/0/dead"`)
		b.record("r1", "b", `"outcome":"retry","reason":"down","visibleInMs":1000`)
		b.batch("r1")
		b.Ended(track.End{RequestID: "r1", Left: []string{"b"}})
		b.event(sqs.Deleted, "a", 1, 0)
		synctest.Wait()
		b.event(sqs.Redriven, "b", 1, 0)
		b.take()
		want(t, "dead-lettered", b.Progress().DeadLettered, 2)
		b.move("a-copy", body("a"), "dead", "orders", "a2")
		b.move("b", body("b"), "dead", "orders", "b2")
		b.move("x", body("x"), "dead", "elsewhere", "x2")
		want(t, "facts", b.take(), []track.Fact{
			track.Moved{MessageID: "a-copy", NewMessageID: "a2", Body: body("a"), From: "dead", To: "orders"},
			track.Moved{MessageID: "b", NewMessageID: "b2", Body: body("b"), From: "dead", To: "orders"},
		})
		want(t, "moved", b.Progress(), track.Progress{Sent: 2, Waiting: 2, Retried: 1, Invocations: 1})
		want(t, "dead", len(b.Dead()), 0)
		b.invoke("r2", 2, "a2", "b2")
		b.Ended(track.End{RequestID: "r2"})
		b.event(sqs.Deleted, "a2", 1, 0)
		b.event(sqs.Deleted, "b2", 1, 0)
		b.AllSent()
		<-b.Done()
		want(t, "progress", b.Progress(), track.Progress{Sent: 2, Succeeded: 2, Retried: 1, Invocations: 2})
	})
}

// TestMovedByOthers: what a task brings that was not of this run is a message
// more; what it takes away is gone.
func TestMovedByOthers(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.event(sqs.Sent, "a", 0, 0)
		b.move("old", "old body", "dead", "orders", "b")
		b.move("a", body("a"), "orders", "archive", "a2")
		b.take()
		want(t, "progress", b.Progress(), track.Progress{Sent: 2, Moved: 1, Waiting: 1})
	})
}
