package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"golang.org/x/sync/errgroup"

	"github.com/sqsbatch/sqsbatch/internal/sqscall"
	"github.com/sqsbatch/sqsbatch/test/internal/harness"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

// A scene is a server with a dead-letter queue and the two queues that its messages came
// from. orders names it in its redrive policy.
type scene struct {
	replayOptions
	url                   string
	client                *awssqs.Client
	orders, returns, dead string

	mu  sync.Mutex
	ids map[string]int // the number of each message by its id in the dead-letter queue
}

func newScene(o replayOptions, url string) *scene {
	s := &scene{replayOptions: o, url: url, client: harness.SQSClient(url, sqscall.FromMemory), orders: "orders", returns: "returns", dead: "dead", ids: map[string]int{}}
	if o.fifo {
		s.orders, s.returns, s.dead = "orders.fifo", "returns.fifo", "dead.fifo"
	}
	return s
}

func arn(queue string) string {
	return "arn:aws:sqs:us-east-1:" + strings.Trim(account, "/") + ":" + queue
}

func (s *scene) queueURL(name string) *string { return aws.String(s.url + account + name) }

// workers is how many calls fill and read the queues at the same time.
const workers = 8

// inParallel has workers call run, which must ends at the first error.
func inParallel(ctx context.Context, run func(context.Context)) {
	calls, ctx := errgroup.WithContext(ctx)
	for range workers {
		calls.Go(func() error { return must.Run(func() { run(ctx) }) })
	}
	must.Do(calls.Wait())
}

// fill makes the queues and fills the dead-letter queue.
func (s *scene) fill(ctx context.Context) {
	for _, name := range []string{s.dead, s.returns} {
		must.Get(harness.MakeQueue(ctx, s.client, name, nil))
	}
	policy := fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":"1"}`, arn(s.dead))
	must.Get(harness.MakeQueue(ctx, s.client, s.orders, map[string]string{"RedrivePolicy": policy, "VisibilityTimeout": "0"}))
	s.sendAll(ctx)
	s.exhaust(ctx)
	if visible, hidden := must.Get2(s.counts(ctx, s.dead)); visible != s.messages || hidden != 0 {
		must.Failf("the dead-letter queue was filled with %d messages and %d hidden ones, want %d", visible, hidden, s.messages)
	}
}

// sendAll sends the letters, those of a group in their order.
func (s *scene) sendAll(ctx context.Context) {
	var groups atomic.Int64
	inParallel(ctx, func(ctx context.Context) {
		for {
			first := int(groups.Add(1)-1) * groupSize
			if first >= s.messages {
				return
			}
			for n := first; n < min(first+groupSize, s.messages); n++ {
				s.send(ctx, newLetter(n, s.fifo))
			}
		}
	})
}

func (s *scene) send(ctx context.Context, l letter) {
	in := &awssqs.SendMessageInput{QueueUrl: s.queueURL(s.dead), MessageBody: &l.body, MessageAttributes: l.attributes(s)}
	if l.moved {
		in.QueueUrl = s.queueURL(s.orders)
	}
	if s.fifo {
		in.MessageGroupId, in.MessageDeduplicationId = &l.group, aws.String(strconv.Itoa(l.n))
	}
	out := must.Get(s.client.SendMessage(ctx, in))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids[aws.ToString(out.MessageId)] = l.n // a message that SQS moves keeps its id
}

// exhaust receives from orders until SQS has moved everything from there: each message is
// received once, and is visible at once.
func (s *scene) exhaust(ctx context.Context) {
	var done atomic.Bool
	inParallel(ctx, func(ctx context.Context) {
		for !done.Load() {
			out := must.Get(s.client.ReceiveMessage(ctx, &awssqs.ReceiveMessageInput{QueueUrl: s.queueURL(s.orders), MaxNumberOfMessages: 10}))
			if len(out.Messages) == 0 {
				visible, hidden := must.Get2(s.counts(ctx, s.orders))
				done.Store(visible+hidden == 0)
			}
		}
	})
}

// counts are how many messages of a queue are visible, and hidden.
func (s *scene) counts(ctx context.Context, queue string) (visible, hidden int, err error) {
	return harness.Depth(ctx, s.client, *s.queueURL(queue))
}

// drain receives and deletes everything of a queue. Messages of a group come in order.
func (s *scene) drain(ctx context.Context, queue string, each func(*types.Message)) {
	var mu sync.Mutex
	inParallel(ctx, func(ctx context.Context) {
		for {
			out := must.Get(s.client.ReceiveMessage(ctx, &awssqs.ReceiveMessageInput{
				QueueUrl: s.queueURL(queue), MaxNumberOfMessages: 10, VisibilityTimeout: 600, WaitTimeSeconds: 1,
				MessageAttributeNames: []string{"All"}, MessageSystemAttributeNames: []types.MessageSystemAttributeName{"All"},
			}))
			if len(out.Messages) == 0 {
				return
			}
			in := &awssqs.DeleteMessageBatchInput{QueueUrl: s.queueURL(queue)}
			mu.Lock()
			for i := range out.Messages {
				each(&out.Messages[i])
				in.Entries = append(in.Entries, types.DeleteMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), ReceiptHandle: out.Messages[i].ReceiptHandle})
			}
			mu.Unlock()
			must.Get(s.client.DeleteMessageBatch(ctx, in))
		}
	})
}
