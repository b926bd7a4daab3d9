package sqs_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

func fifoSend(body, group, id string) awssqs.SendMessageInput {
	in := awssqs.SendMessageInput{MessageBody: &body, MessageGroupId: &group}
	if id != "" {
		in.MessageDeduplicationId = &id
	}
	return in
}

func TestParametersOfTheOtherTypeOfQueue(t *testing.T) {
	virtual(t, func(b *bench) {
		fifo, standard := b.queue("orders.fifo"), b.queue("orders")
		withID, withoutGroup := fifoSend("a", "g", "1"), fifoSend("a", "", "1")
		withID.QueueUrl, withoutGroup.QueueUrl, withoutGroup.MessageGroupId = standard, fifo, nil
		b.wantCode(errOf(b.SendMessage(b.ctx, &withID)), "InvalidParameterValue")
		b.wantCode(errOf(b.SendMessage(b.ctx, &withoutGroup)), "MissingParameter")
		in := &awssqs.ReceiveMessageInput{QueueUrl: standard, ReceiveRequestAttemptId: aws.String("1")}
		b.wantCode(errOf(b.ReceiveMessage(b.ctx, in)), "InvalidParameterValue")
	})
}

// The service refuses such a batch as a whole, not only the entry.
func TestBatchesForFIFOQueuesNeedTheirIDs(t *testing.T) {
	virtual(t, func(b *bench) {
		queue, byContent := b.queue("orders.fifo"), b.queue("content.fifo", "ContentBasedDeduplication", "true")
		send := func(queue *string, group, id *string) error {
			return errOf(b.SendMessageBatch(b.ctx, &awssqs.SendMessageBatchInput{QueueUrl: queue, Entries: []types.SendMessageBatchRequestEntry{
				{Id: aws.String("good"), MessageBody: aws.String("a"), MessageGroupId: aws.String("g"), MessageDeduplicationId: aws.String("d")},
				{Id: aws.String("bad"), MessageBody: aws.String("b"), MessageGroupId: group, MessageDeduplicationId: id},
			}}))
		}
		b.wantCode(send(queue, nil, aws.String("e")), "InvalidParameterValue")
		b.wantCode(send(queue, aws.String("g"), nil), "InvalidParameterValue")
		b.counts(queue, "0", "0", "0")
		b.ok(send(byContent, aws.String("g"), nil))
		b.counts(byContent, "2", "0", "0")
	})
}

func TestADuplicateIsAnsweredAsTheFirstSend(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders.fifo")
		first, second := b.sent(queue, fifoSend("a", "g", "same")), b.sent(queue, fifoSend("b", "g", "same"))
		if *first.MessageId != *second.MessageId || *first.SequenceNumber != *second.SequenceNumber {
			b.Errorf("first %s %s, second %s %s", *first.MessageId, *first.SequenceNumber, *second.MessageId, *second.SequenceNumber)
		}
		equal(b, "events", b.kinds(), "sent duplicate")
	})
}

// Messages become visible in the order of their new times.
func TestANewDelayOfAFIFOQueueReordersWhatIsHidden(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders.fifo", "DelaySeconds", "60")
		b.sendFIFO(queue, "h", "other")
		time.Sleep(time.Minute)
		b.one(queue, hiddenFor(35))
		b.sendFIFO(queue, "g", "1", "2")
		time.Sleep(30 * time.Second)
		b.ok(b.set(queue, "DelaySeconds", "32"))
		time.Sleep(2 * time.Second)
		b.wantReceived(queue, "1 2")
	})
}

func attempt(id string) func(*awssqs.ReceiveMessageInput) {
	return func(in *awssqs.ReceiveMessageInput) { in.ReceiveRequestAttemptId = &id }
}

// Cases without a conformance check (attempts/...).
func TestTheSameAttemptIsTheSameReceive(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders.fifo", "VisibilityTimeout", "30")
		b.sendFIFO(queue, "g", "1", "2", "3")
		b.receive(queue, attempt("x"), atMost(2))
		for range 2 {
			time.Sleep(20 * time.Second)
			again := b.receive(queue, attempt("x"))
			if bodies(again) != "1 2" || again[0].Attributes["ApproximateReceiveCount"] != "1" {
				b.Errorf("received %q again, the first %s times", bodies(again), again[0].Attributes["ApproximateReceiveCount"])
			}
			if e := last(b.events()); e.Kind != sqs.Visibility || e.Visibility != 30*time.Second {
				b.Errorf("event %+v", e)
			}
		}
		time.Sleep(30*time.Second - time.Nanosecond) // counted from the latest
		b.counts(queue, "1", "2", "0")
	})
}

func TestAnAttemptThatIsNoLongerTheSame(t *testing.T) {
	for name, tc := range map[string]struct {
		meanwhile func(b *bench, queue *string, got []types.Message)
		want      string // bodies of the second receive
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

// A retry does not extend the five minutes, and an empty receive is not repeated.
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
		equal(b, "received", bodies(<-got), "2")
	})
}
