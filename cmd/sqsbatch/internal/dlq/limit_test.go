package dlq_test

import (
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
		b.bury(300)
		b.contains(b.must(0, "replay", "orders-dead", "--limit", "45", "--rate", "3", "--yes"), "45 messages replayed")
		b.depths(45, 255)
	})
}

// A message that fails counts: the limit is how many messages a run takes in hand.
func TestLimit_CountsMessagesThatFail(t *testing.T) {
	virtual(t, func(b *bench) {
		b.bury(40)
		b.inject(sqs.Fault{Kind: sqs.EntryFailure, Operation: "SendMessageBatch", Code: "InvalidMessageContents", Times: 3})
		b.contains(b.must(3, "replay", "orders-dead", "--limit", "10", "--yes"), "7 messages replayed", "3 messages stay")
		b.depths(7, 33)
	})
}

// killed runs a replay of 5 of 60 messages, and kills it in the call that sends them.
func killed(b *bench) {
	b.Helper()
	b.bury(60)
	b.inject(sqs.Fault{Kind: sqs.LostAnswer, Operation: "SendMessageBatch", Probability: 1})
	b.runKilled(3*time.Second, "replay", "orders-dead", "--limit", "5", "--yes")
	b.server.ClearFaults()
}

// A run with a limit that goes on waits for the messages that it may have sent, although
// others are there to fill the limit. They are still known after a run that SQS refuses to
// send them.
func TestLimit_HoldsForAResumedRun(t *testing.T) {
	for _, refused := range []bool{false, true} {
		virtual(t, func(b *bench) {
			killed(b)
			if refused {
				b.inject(sqs.Fault{Kind: sqs.Failure, Code: "AccessDenied", Operation: "SendMessageBatch"})
				b.must(1, "replay", "orders-dead", "--resume")
				b.server.ClearFaults()
			}
			b.drain("orders")
			r := b.must(3, "replay", "orders-dead", "--resume") // 3: perhaps twice
			b.contains(r, "5 messages replayed", "may have been sent twice")
			b.depths(5, 55)
			b.contains(b.run("replay", "orders-dead", "--resume"), "there is no interrupted run")
		})
	}
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
