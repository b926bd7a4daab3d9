package sqs_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// TestManyClientsOfTheSameQueues sends, receives, hides, deletes and moves messages
// concurrently. Afterwards every message must be deleted or in one of the queues. The
// conformance checks run the other operations concurrently.
func TestManyClientsOfTheSameQueues(t *testing.T) {
	const clients, rounds = 6, 25
	b := newBench(t, sqs.Config{})
	var queues []*string
	for _, suffix := range []string{"", ".fifo"} {
		queue, dead := b.pair(suffix, 2, "VisibilityTimeout", "0")
		queues = append(queues, dead, queue)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var work, polls sync.WaitGroup
	for _, queue := range queues { // waits, and releases the messages
		polls.Go(func() {
			for ctx.Err() == nil {
				out, err := b.ReceiveMessage(ctx, &awssqs.ReceiveMessageInput{QueueUrl: queue, MaxNumberOfMessages: 3, WaitTimeSeconds: 20, VisibilityTimeout: 60})
				for i := 0; err == nil && i < len(out.Messages); i++ {
					b.hide(queue, out.Messages[i].ReceiptHandle, 0)
				}
			}
		})
	}
	for client := range clients {
		work.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(client)))
			for round := range rounds {
				queue := queues[random.IntN(len(queues))]
				b.sendTen(queue, fmt.Sprintf("%d-%d", client, round))
				for range 4 {
					b.receiveAndSettle(queue, random)
				}
				for _, dead := range []string{"dead", "dead.fifo"} {
					b.move(dead, "", 500)
				}
				b.server.Events(sqs.Moved)
				b.server.Calls("SendMessageBatch")
				b.server.Snapshot()
			}
		})
	}
	work.Wait()
	cancel()
	polls.Wait()

	for _, dead := range []string{"dead", "dead.fifo"} { // otherwise moving messages are counted twice
		for _, task := range b.tasks(dead, 10) {
			if task.TaskHandle != nil {
				b.CancelMessageMoveTask(b.ctx, &awssqs.CancelMessageMoveTaskInput{TaskHandle: task.TaskHandle})
			}
		}
	}
	left := 0
	for _, q := range b.server.Snapshot() {
		left += len(q.Messages)
	}
	if deleted := len(b.server.Events(sqs.Deleted)); deleted+left != clients*rounds*10 {
		t.Errorf("%d sent, %d deleted, %d left", clients*rounds*10, deleted, left)
	}
	for _, kind := range []sqs.Kind{sqs.Received, sqs.Visibility, sqs.Returned, sqs.Deleted, sqs.Redriven, sqs.Moved} {
		if len(b.server.Events(kind)) == 0 {
			t.Errorf("none was %s: the test misses something", kind)
		}
	}
}

func (b *bench) sendTen(queue *string, name string) {
	var entries []types.SendMessageBatchRequestEntry
	for i := range 10 {
		id := aws.String(fmt.Sprintf("%s-%d", name, i))
		e := types.SendMessageBatchRequestEntry{Id: id, MessageBody: id, MessageGroupId: aws.String(fmt.Sprint(i % 3))}
		if strings.HasSuffix(*queue, ".fifo") {
			e.MessageDeduplicationId = id
		}
		entries = append(entries, e)
	}
	out, err := b.SendMessageBatch(b.ctx, &awssqs.SendMessageBatchInput{QueueUrl: queue, Entries: entries})
	if err != nil || len(out.Failed) > 0 {
		b.Errorf("sending: %v, %v", out, err)
	}
}

// receiveAndSettle deletes a third of the received messages, and releases the others. It
// ignores errors, since another client may have received a message again.
func (b *bench) receiveAndSettle(queue *string, random *rand.Rand) {
	out, err := b.ReceiveMessage(b.ctx, &awssqs.ReceiveMessageInput{QueueUrl: queue, MaxNumberOfMessages: 10, VisibilityTimeout: 60})
	if err != nil {
		b.Error(err)
		return
	}
	for _, m := range out.Messages {
		if random.IntN(3) == 0 {
			b.delete(queue, m.ReceiptHandle)
		} else {
			b.hide(queue, m.ReceiptHandle, 0)
		}
	}
}
