package dlq_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// The limit is exact although workers that have messages wait for their turn when it is
// reached.
func TestLimit_IsExactAtARate(t *testing.T) {
	virtual(t, func(b *bench) {
		for _, body := range numbered(0, 300) {
			b.buried("orders-dead", "", body, "x", "orders")
		}
		b.contains(b.must(0, "replay", "orders-dead", "--limit", "45", "--rate", "3", "--yes"), "45 messages replayed")
		if n, left := b.depth("orders"), b.depth("orders-dead"); n != 45 || left != 255 {
			t.Errorf("%d sent, %d left", n, left)
		}
	})
}

// A message that fails counts: the limit is how many messages a run takes in hand.
func TestLimit_CountsMessagesThatFail(t *testing.T) {
	virtual(t, func(b *bench) {
		for _, body := range numbered(0, 40) {
			b.buried("orders-dead", "", body, "x", "orders")
		}
		if err := b.server.Inject(sqs.Fault{Kind: sqs.EntryFailure, Operation: "SendMessageBatch", Code: "InvalidMessageContents", Times: 3}); err != nil {
			t.Fatal(err)
		}
		b.contains(b.must(3, "replay", "orders-dead", "--limit", "10", "--yes"), "7 messages replayed", "3 messages stay")
		if n, left := b.depth("orders"), b.depth("orders-dead"); n != 7 || left != 33 {
			t.Errorf("%d sent, %d left", n, left)
		}
	})
}

// killed runs a replay of 5 of 60 messages, and kills it in the call that sends them.
func killed(b *bench) {
	b.Helper()
	for _, body := range numbered(0, 60) {
		b.buried("orders-dead", "", body, "x", "orders")
	}
	if err := b.server.Inject(sqs.Fault{Kind: sqs.LostAnswer, Operation: "SendMessageBatch", Probability: 1}); err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	time.AfterFunc(3*time.Second, cancel)
	b.runWith(ctx, "replay", "orders-dead", "--limit", "5", "--yes")
	cancel()
	b.server.ClearFaults()
}

// A run with a limit that goes on waits for the messages that it may have sent, although
// others are there to fill the limit.
func TestLimit_HoldsForAResumedRun(t *testing.T) {
	virtual(t, func(b *bench) {
		killed(b)
		b.drain("orders")
		r := b.must(3, "replay", "orders-dead", "--resume") // 3: perhaps twice
		b.contains(r, "5 messages replayed", "may have been sent twice")
		if n, left := b.depth("orders"), b.depth("orders-dead"); n != 5 || left != 55 {
			t.Errorf("%d sent, %d left", n, left)
		}
		b.contains(b.run("replay", "orders-dead", "--resume"), "there is no interrupted run")
	})
}

// What a killed run may have sent is still known after a run that SQS refuses to send it.
func TestResume_KnowsWhatWasSentBeforeARefusal(t *testing.T) {
	virtual(t, func(b *bench) {
		killed(b)
		if err := b.server.Inject(sqs.Fault{Kind: sqs.Failure, Code: "AccessDenied", Operation: "SendMessageBatch"}); err != nil {
			t.Fatal(err)
		}
		b.must(1, "replay", "orders-dead", "--resume")
		b.server.ClearFaults()
		b.drain("orders")
		r := b.must(3, "replay", "orders-dead", "--resume") // 3: perhaps twice
		b.contains(r, "5 messages replayed", "may have been sent twice")
		if n, left := b.depth("orders"), b.depth("orders-dead"); n != 5 || left != 55 {
			t.Errorf("%d sent, %d left", n, left)
		}
	})
}

// What a killed run may have sent can leave the queue meanwhile. The run that goes on ends.
func TestResume_EndsWithoutMessagesThatAreGone(t *testing.T) {
	virtual(t, func(b *bench) {
		killed(b)
		if _, err := b.client.PurgeQueue(b.Context(), &awssqs.PurgeQueueInput{QueueUrl: aws.String(b.server.QueueURL("orders-dead"))}); err != nil {
			t.Fatal(err)
		}
		b.must(0, "replay", "orders-dead", "--resume")
		b.contains(b.run("replay", "orders-dead", "--resume"), "there is no interrupted run")
	})
}

// newKill is a context that ends a run as a kill does, after a time.
func newKill(b *bench, after time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(b.Context())
	time.AfterFunc(after, cancel)
	return ctx, cancel
}
