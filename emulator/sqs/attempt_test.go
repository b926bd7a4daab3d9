package sqs_test

import (
	"testing"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

func attempt(id string) func(*awssqs.ReceiveMessageInput) {
	return func(in *awssqs.ReceiveMessageInput) { in.ReceiveRequestAttemptId = &id }
}

func handles(messages []types.Message) (all []string) {
	for _, m := range messages {
		all = append(all, *m.ReceiptHandle)
	}
	return all
}

func TestTheSameAttemptGetsTheSameMessages(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders.fifo", "VisibilityTimeout", "30")
		b.sendFIFO(queue, "g", "1", "2", "3")
		first := b.receive(queue, attempt("x"), atMost(2))
		time.Sleep(20 * time.Second)
		b.wantReceived(queue, "", attempt("y")) // another attempt gets nothing of a locked group
		again := b.receive(queue, attempt("x"), atMost(2))
		if bodies(again) != "1 2" || handles(again)[0] != handles(first)[0] || handles(again)[1] != handles(first)[1] {
			b.Fatalf("received %q again, handles %v, want %v", bodies(again), handles(again), handles(first))
		}
		if got := again[0].Attributes["ApproximateReceiveCount"]; got != "1" {
			b.Errorf("ApproximateReceiveCount %s: it is the same receive", got)
		}
		if e := last(b.events()); e.Kind != sqs.Visibility || e.Visibility != 30*time.Second {
			b.Errorf("event %+v", e)
		}
		if third := b.receive(queue, attempt("x")); bodies(third) != "1 2" {
			b.Errorf("received %q the third time", bodies(third))
		}
		time.Sleep(30*time.Second - time.Nanosecond) // counted from the second time
		b.counts(queue, "1", "2", "0")
		b.ok(b.delete(queue, first[0].ReceiptHandle))
	})
}

func TestAnAttemptThatIsNoLongerTheSame(t *testing.T) {
	for name, tc := range map[string]struct {
		meanwhile func(b *bench, queue *string, got []types.Message)
		want      string // of the second receive
	}{
		"deleted": {func(b *bench, queue *string, got []types.Message) {
			b.ok(b.delete(queue, got[0].ReceiptHandle))
		}, ""},
		"visibility changed": {func(b *bench, queue *string, got []types.Message) {
			b.ok(b.hide(queue, got[1].ReceiptHandle, 500))
		}, ""},
		"visible again": {func(_ *bench, _ *string, _ []types.Message) { time.Sleep(400 * time.Second) }, "1 2 3"},
		"released": {func(b *bench, queue *string, got []types.Message) {
			for _, m := range got {
				b.ok(b.hide(queue, m.ReceiptHandle, 0))
			}
		}, "1 2 3"},
		"received since": {func(b *bench, queue *string, got []types.Message) {
			for _, m := range got {
				b.ok(b.hide(queue, m.ReceiptHandle, 0))
			}
			b.receive(queue)
		}, ""},
		"five minutes": {func(_ *bench, _ *string, _ []types.Message) { time.Sleep(5 * time.Minute) }, ""},
		"nearly five minutes": {func(_ *bench, _ *string, _ []types.Message) {
			time.Sleep(5*time.Minute - time.Nanosecond)
		}, "1 2"},
		"purged": {func(b *bench, queue *string, _ []types.Message) {
			b.ok(b.purge(queue))
		}, ""},
	} {
		virtualRun(t, name, func(b *bench) {
			queue := b.queue("orders.fifo", "VisibilityTimeout", "400")
			b.sendFIFO(queue, "g", "1", "2", "3")
			first := b.receive(queue, attempt("x"), atMost(2))
			tc.meanwhile(b, queue, first)
			b.wantReceived(queue, tc.want, attempt("x"))
		})
	}
}

// A retry does not extend the five minutes, and a receive that found nothing
// is no attempt that could be repeated.
func TestTheFiveMinutesOfAnAttemptBeginOnce(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders.fifo", "VisibilityTimeout", "43200")
		b.wantReceived(queue, "", attempt("x"))
		b.sendFIFO(queue, "g", "1")
		for range 2 {
			b.wantReceived(queue, "1", attempt("x"))
			time.Sleep(2 * time.Minute)
		}
		time.Sleep(time.Minute)
		b.wantReceived(queue, "", attempt("x")) // after five minutes
		got := b.poll(queue)
		b.sendFIFO(queue, "h", "2")
		if m := <-got; bodies(m) != "2" {
			b.Errorf("received %q", bodies(m))
		}
	})
}

// What a lost answer took is there again for the same attempt.
func TestAttemptAfterALostAnswer(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders.fifo")
		b.sendFIFO(queue, "g", "1")
		b.ok(b.server.Inject(sqs.Fault{Kind: sqs.LostAnswer, Operation: "ReceiveMessage", Times: 1}))
		in := &awssqs.ReceiveMessageInput{QueueUrl: queue}
		attempt("x")(in)
		if _, err := b.ReceiveMessage(b.ctx, in); err == nil {
			b.Fatal("the answer was not lost")
		}
		b.wantReceived(queue, "1", attempt("x"))
	})
}
