package main

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"golang.org/x/sync/errgroup"

	"github.com/sqsbatch/sqsbatch/internal/wholebody"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
	"github.com/sqsbatch/sqsbatch/test/internal/sqsqueue"
)

// A scene is a server with a dead-letter queue and the two queues that its messages came
// from. orders names it in its redrive policy.
type scene struct {
	options
	url                   string
	client                *awssqs.Client
	orders, returns, dead string

	mu  sync.Mutex
	ids map[string]int // the number of each message by its id in the dead-letter queue
}

func newScene(o options, url string) *scene {
	s := &scene{options: o, url: url, client: sqsqueue.Client(url, wholebody.Use), orders: "orders", returns: "returns", dead: "dead", ids: map[string]int{}}
	if o.fifo {
		s.orders, s.returns, s.dead = "orders.fifo", "returns.fifo", "dead.fifo"
	}
	return s
}

// Both servers have this account.
const account = "000000000000"

func arn(queue string) string { return "arn:aws:sqs:us-east-1:" + account + ":" + queue }

func (s *scene) queueURL(name string) *string { return aws.String(s.url + "/" + account + "/" + name) }

// workers is how many calls fill and read the queues at the same time.
const workers = 8

// fill makes the queues and fills the dead-letter queue.
func (s *scene) fill(ctx context.Context) {
	for _, name := range []string{s.dead, s.returns} {
		must.Get(sqsqueue.Make(ctx, s.client, name, nil))
	}
	policy := fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":"1"}`, arn(s.dead))
	must.Get(sqsqueue.Make(ctx, s.client, s.orders, map[string]string{"RedrivePolicy": policy, "VisibilityTimeout": "0"}))
	must.Do(s.sendAll(ctx))
	must.Do(s.exhaust(ctx))
	if visible, hidden := must.Get2(s.counts(ctx, s.dead)); visible != s.messages || hidden != 0 {
		must.Failf("the dead-letter queue was filled with %d messages and %d hidden ones, want %d", visible, hidden, s.messages)
	}
}

// sendAll sends the letters, those of a group in their order.
func (s *scene) sendAll(ctx context.Context) error {
	calls, ctx := errgroup.WithContext(ctx)
	calls.SetLimit(workers)
	for first := 0; first < s.messages; first += groupSize {
		calls.Go(func() error {
			for n := first; n < min(first+groupSize, s.messages); n++ {
				if err := s.send(ctx, newLetter(n, s.fifo)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return calls.Wait()
}

func (s *scene) send(ctx context.Context, l letter) error {
	in := &awssqs.SendMessageInput{QueueUrl: s.queueURL(s.dead), MessageBody: &l.body, MessageAttributes: l.attributes}
	if l.moved {
		in.QueueUrl = s.queueURL(s.orders)
	} else {
		in.MessageAttributes = map[string]types.MessageAttributeValue{
			"sqsbatch": {DataType: aws.String("String"), StringValue: aws.String(l.origin(s))},
		}
		maps.Copy(in.MessageAttributes, l.attributes)
	}
	if l.trace != "" {
		in.MessageSystemAttributes = map[string]types.MessageSystemAttributeValue{"AWSTraceHeader": {DataType: aws.String("String"), StringValue: &l.trace}}
	}
	if s.fifo {
		in.MessageGroupId, in.MessageDeduplicationId = &l.group, aws.String(strconv.Itoa(l.n))
	}
	out, err := s.client.SendMessage(ctx, in)
	if err != nil {
		return fmt.Errorf("send message %d: %w", l.n, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids[aws.ToString(out.MessageId)] = l.n // a message that SQS moves keeps its id
	return nil
}

// exhaust receives from orders until SQS has moved everything from there: each message is
// received once, and is visible at once.
func (s *scene) exhaust(ctx context.Context) error {
	calls, ctx := errgroup.WithContext(ctx)
	var done atomic.Bool
	for range workers {
		calls.Go(func() error {
			for !done.Load() {
				out, err := s.client.ReceiveMessage(ctx, &awssqs.ReceiveMessageInput{QueueUrl: s.queueURL(s.orders), MaxNumberOfMessages: 10})
				if err != nil {
					return err
				}
				if len(out.Messages) > 0 {
					continue
				}
				visible, hidden, err := s.counts(ctx, s.orders)
				if err != nil {
					return err
				}
				done.Store(visible+hidden == 0)
			}
			return nil
		})
	}
	return calls.Wait()
}

// counts are how many messages of a queue are visible, and hidden.
func (s *scene) counts(ctx context.Context, queue string) (visible, hidden int, err error) {
	return sqsqueue.Depth(ctx, s.client, *s.queueURL(queue))
}

// drain receives and deletes everything of a queue. Messages of a group come in order.
func (s *scene) drain(ctx context.Context, queue string, each func(*types.Message)) error {
	calls, ctx := errgroup.WithContext(ctx)
	var mu sync.Mutex
	for range workers {
		calls.Go(func() error {
			for {
				out, err := s.client.ReceiveMessage(ctx, &awssqs.ReceiveMessageInput{
					QueueUrl: s.queueURL(queue), MaxNumberOfMessages: 10, VisibilityTimeout: 600, WaitTimeSeconds: 1,
					MessageAttributeNames: []string{"All"}, MessageSystemAttributeNames: []types.MessageSystemAttributeName{"All"},
				})
				if err != nil || len(out.Messages) == 0 {
					return err
				}
				in := &awssqs.DeleteMessageBatchInput{QueueUrl: s.queueURL(queue)}
				for i := range out.Messages {
					mu.Lock()
					each(&out.Messages[i])
					mu.Unlock()
					in.Entries = append(in.Entries, types.DeleteMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), ReceiptHandle: out.Messages[i].ReceiptHandle})
				}
				if _, err := s.client.DeleteMessageBatch(ctx, in); err != nil {
					return err
				}
			}
		})
	}
	return calls.Wait()
}
