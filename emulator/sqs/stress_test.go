package sqs_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// TestAllOperationsAtOnce runs all operations concurrently. Afterwards every message must
// be deleted or in one of the queues.
func TestAllOperationsAtOnce(t *testing.T) {
	const clients, rounds = 6, 25
	var mu sync.Mutex
	seen := map[sqs.Kind]int{}
	b := newBench(t, sqs.Config{History: 100, Observe: func(e sqs.Event) {
		mu.Lock()
		defer mu.Unlock()
		seen[e.Kind]++
	}})
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
				everything(b, queue, random, client)
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
	for _, queue := range queues {
		got := b.attributes(queue)
		for _, name := range []string{"ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed"} {
			n, err := strconv.Atoi(got[name])
			b.ok(err)
			left += n
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if seen[sqs.Sent] != clients*rounds*10 || seen[sqs.Sent] != seen[sqs.Deleted]+left {
		t.Errorf("%d sent, %d deleted, %d left; all: %v", seen[sqs.Sent], seen[sqs.Deleted], left, seen)
	}
	for _, kind := range []sqs.Kind{sqs.Received, sqs.Visibility, sqs.Returned, sqs.Deleted, sqs.Redriven, sqs.Moved} {
		if seen[kind] == 0 {
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

// everything calls some of the other operations, in random order. It ignores errors, such
// as old handles and running tasks.
func everything(b *bench, queue *string, random *rand.Rand, client int) {
	for range 12 {
		switch random.IntN(14) {
		case 0, 1, 2:
			out, err := b.ReceiveMessage(b.ctx, &awssqs.ReceiveMessageInput{QueueUrl: queue, MaxNumberOfMessages: 10, VisibilityTimeout: 60})
			if err != nil {
				b.Error(err)
				continue
			}
			var deletes []types.DeleteMessageBatchRequestEntry
			var changes []types.ChangeMessageVisibilityBatchRequestEntry
			for i, m := range out.Messages {
				id := aws.String(fmt.Sprint(i))
				if random.IntN(3) == 0 {
					deletes = append(deletes, types.DeleteMessageBatchRequestEntry{Id: id, ReceiptHandle: m.ReceiptHandle})
				} else {
					changes = append(changes, types.ChangeMessageVisibilityBatchRequestEntry{Id: id, ReceiptHandle: m.ReceiptHandle})
				}
			}
			b.ChangeMessageVisibilityBatch(b.ctx, &awssqs.ChangeMessageVisibilityBatchInput{QueueUrl: queue, Entries: changes})
			b.DeleteMessageBatch(b.ctx, &awssqs.DeleteMessageBatchInput{QueueUrl: queue, Entries: deletes})
		case 3:
			b.StartMessageMoveTask(b.ctx, &awssqs.StartMessageMoveTaskInput{SourceArn: aws.String(b.server.QueueARN("dead"))})
			b.StartMessageMoveTask(b.ctx, &awssqs.StartMessageMoveTaskInput{
				SourceArn: aws.String(b.server.QueueARN("dead.fifo")), DestinationArn: aws.String(b.server.QueueARN("orders.fifo"))})
		case 4:
			if tasks := b.tasks("dead", 10); len(tasks) > 0 && tasks[0].TaskHandle != nil {
				b.CancelMessageMoveTask(b.ctx, &awssqs.CancelMessageMoveTaskInput{TaskHandle: tasks[0].TaskHandle})
			}
		case 5:
			b.permit(queue, fmt.Sprint(client), []string{"111111111111"}, []string{"*"})
		case 6:
			b.forbid(queue, fmt.Sprint(client))
		case 7:
			b.set(queue, "ReceiveMessageWaitTimeSeconds", "0")
		case 8:
			b.TagQueue(b.ctx, &awssqs.TagQueueInput{QueueUrl: queue, Tags: map[string]string{fmt.Sprint(client): "x"}})
			b.ListQueueTags(b.ctx, &awssqs.ListQueueTagsInput{QueueUrl: queue})
			b.UntagQueue(b.ctx, &awssqs.UntagQueueInput{QueueUrl: queue, TagKeys: []string{"0", "1"}})
		case 9:
			b.ListQueues(b.ctx, nil)
			b.ListDeadLetterSourceQueues(b.ctx, &awssqs.ListDeadLetterSourceQueuesInput{QueueUrl: queue})
		case 10:
			// Create a queue, wait with a receiver, and delete the queue.
			own := aws.String(fmt.Sprintf("own-%d-%d", client, random.IntN(1<<30)))
			out, err := b.CreateQueue(b.ctx, &awssqs.CreateQueueInput{QueueName: own})
			if err != nil {
				b.Error(err)
				continue
			}
			var waiting sync.WaitGroup
			waiting.Go(func() {
				b.ReceiveMessage(b.ctx, &awssqs.ReceiveMessageInput{QueueUrl: out.QueueUrl, WaitTimeSeconds: 20})
			})
			b.purge(out.QueueUrl)
			b.DeleteQueue(b.ctx, &awssqs.DeleteQueueInput{QueueUrl: out.QueueUrl})
			waiting.Wait()
		case 11:
			b.GetQueueUrl(b.ctx, &awssqs.GetQueueUrlInput{QueueName: aws.String("orders")})
		case 12:
			b.server.Calls("SendMessageBatch")
			b.server.Events(sqs.Moved)
		case 13:
			id := fmt.Sprint("attempt-", client)
			in := &awssqs.ReceiveMessageInput{QueueUrl: aws.String(b.server.QueueURL("orders.fifo")), VisibilityTimeout: 1, ReceiveRequestAttemptId: &id}
			b.ReceiveMessage(b.ctx, in)
			b.ReceiveMessage(b.ctx, in)
		}
	}
}
