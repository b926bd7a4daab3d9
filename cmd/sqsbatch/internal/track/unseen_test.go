package track_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/track"
	"github.com/sqsbatch/sqsbatch/emulator/lambda"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// TestFiltered: a message that the event source mapping deleted because of its
// filters is no success, and not one that another receiver removed.
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
		b.Filtered(lambda.Filtered{
			Records:  []lambda.Record{{MessageID: "a", Body: body("a"), Attempt: 1}, {MessageID: "unknown"}, {MessageID: "b"}},
			Verdicts: []lambda.Verdict{{Deleted: true}, {Deleted: true}, {Err: errors.New("no answer")}},
		})
		<-b.Done()
		want(t, "finals", b.finals(), []string{"a filtered"})
		if r := b.last(); !r.Done() || r.Invocation != 0 || r.Attempt != 1 || r.Body != body("a") || r.Reason == "" {
			t.Errorf("%+v", r)
		}
		want(t, "progress", b.Progress(), track.Progress{Sent: 2, Filtered: 1, Removed: 1})
	})
}

// move has a move task take the message with that id and body to another queue.
func (b *bench) move(id, body, from, to, newID string) {
	b.Queue(moved(id, body, from, to, newID))
}

func moved(id, body, from, to, newID string) sqs.Event {
	return sqs.Event{Time: time.Now(), Kind: sqs.Moved, Queue: from, MessageID: id, Body: body, MovedTo: to, NewMessageID: newID}
}

// A dead letter that comes back, with another id, is the same message in the
// account, whether SQS or the function dead-lettered it.
func TestMovedBack(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.invoke("r1", 1, "a", "b")
		b.record("r1", "a", `"outcome":"dead-letter","reason":"unknown sku","deadLetterQueue":"http://h/0/dead"`)
		b.record("r1", "b", `"outcome":"retry","reason":"down","visibleInMs":1000`)
		b.batch("r1")
		b.ends("r1", "b")
		b.event(sqs.Deleted, "a", 1, 0)
		synctest.Wait()
		b.event(sqs.Redriven, "b", 1, 0)
		b.take()
		want(t, "dead-lettered", b.Progress().DeadLettered, 2)
		b.move("a-copy", body("a"), "dead", "orders", "a2")
		b.move("b", body("b"), "dead", "orders", "b2")
		b.move("x", body("x"), "dead", "elsewhere", "x2")
		want(t, "events", b.take(), []track.Event{
			moved("a-copy", body("a"), "dead", "orders", "a2"),
			moved("b", body("b"), "dead", "orders", "b2"),
		})
		want(t, "moved", b.Progress(), track.Progress{Sent: 2, Waiting: 2, Retried: 1, Invocations: 1})
		want(t, "dead", len(b.Dead()), 0)
		b.invoke("r2", 2, "a2", "b2")
		b.ends("r2")
		b.event(sqs.Deleted, "a2", 1, 0)
		b.event(sqs.Deleted, "b2", 1, 0)
		b.AllSent()
		<-b.Done()
		want(t, "progress", b.Progress(), track.Progress{Sent: 2, Succeeded: 2, Retried: 1, Invocations: 2})
	})
}

// What a task brings is a message more; what it takes away is gone.
func TestMovedByOthers(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.event(sqs.Sent, "a", 0, 0)
		b.move("old", "old body", "dead", "orders", "b")
		b.move("a", body("a"), "orders", "archive", "a2")
		b.take()
		want(t, "progress", b.Progress(), track.Progress{Sent: 2, Moved: 1, Waiting: 1})
	})
}
