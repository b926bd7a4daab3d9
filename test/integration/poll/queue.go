package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/sqsbatch/sqsbatch/internal/sleep"
)

// task is a message, as worker/ has it.
type task struct {
	N     int    `json:"n"`
	Do    string `json:"do"`
	Ms    int    `json:"ms,omitempty"`
	group string // on FIFO queues; defaults to one of its own
}

func (t task) body() string {
	b, err := json.Marshal(t)
	if err != nil {
		panic(err) // cannot happen
	}
	return string(b)
}

// maxReceives is the queues' maxReceiveCount.
const maxReceives = 3

// queues are a queue and its dead-letter queue.
type queues struct {
	client       *sqs.Client
	fifo         bool
	source, dead string // URLs
}

func newQueues(ctx context.Context, endpoint, name string, fifo bool) (*queues, error) {
	q := &queues{fifo: fifo, client: sqs.New(sqs.Options{
		Region: "us-east-1", BaseEndpoint: &endpoint, Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})}
	attributes := map[string]string{}
	suffix := ""
	if fifo {
		attributes["FifoQueue"] = "true"
		suffix = ".fifo"
	}
	out, err := q.client.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String(name + "-dead" + suffix), Attributes: attributes})
	if err != nil {
		return nil, err
	}
	q.dead = *out.QueueUrl
	got, err := q.client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &q.dead, AttributeNames: []types.QueueAttributeName{"QueueArn"}})
	if err != nil {
		return nil, err
	}
	attributes["RedrivePolicy"] = fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":%d}`, got.Attributes["QueueArn"], maxReceives)
	attributes["VisibilityTimeout"] = "120" // far beyond a check: what is stranded is not overlooked
	if out, err = q.client.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String(name + suffix), Attributes: attributes}); err != nil {
		return nil, err
	}
	q.source = *out.QueueUrl
	return q, nil
}

func (q *queues) send(ctx context.Context, tasks []task) error {
	for len(tasks) > 0 {
		ten := tasks[:min(10, len(tasks))]
		tasks = tasks[len(ten):]
		in := &sqs.SendMessageBatchInput{QueueUrl: &q.source}
		for _, t := range ten {
			id := strconv.Itoa(t.N)
			e := types.SendMessageBatchRequestEntry{Id: &id, MessageBody: aws.String(t.body())}
			if q.fifo {
				e.MessageGroupId, e.MessageDeduplicationId = aws.String(cmp.Or(t.group, "own-"+id)), &id
			}
			in.Entries = append(in.Entries, e)
		}
		out, err := q.client.SendMessageBatch(ctx, in)
		if err != nil {
			return err
		}
		if len(out.Failed) > 0 {
			return fmt.Errorf("send: %s", aws.ToString(out.Failed[0].Message))
		}
	}
	return nil
}

// counts are what SQS says of a queue.
type counts struct{ visible, hidden, delayed int }

func (q *queues) counts(ctx context.Context, url string) (c counts, err error) {
	out, err := q.client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: []types.QueueAttributeName{"All"}})
	if err != nil {
		return c, err
	}
	for name, n := range map[string]*int{
		"ApproximateNumberOfMessages": &c.visible, "ApproximateNumberOfMessagesNotVisible": &c.hidden, "ApproximateNumberOfMessagesDelayed": &c.delayed,
	} {
		if *n, err = strconv.Atoi(out.Attributes[name]); err != nil {
			return c, fmt.Errorf("%s: %w", name, err)
		}
	}
	return c, nil
}

// awaitEmpty waits until the queue has nothing any more.
func (q *queues) awaitEmpty(ctx context.Context) error {
	for end := time.Now().Add(patience); ; {
		c, err := q.counts(ctx, q.source)
		if err != nil || c == (counts{}) {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("after %v the queue still has %+v", patience, c)
		}
		if !sleep.For(ctx, 50*time.Millisecond) {
			return ctx.Err()
		}
	}
}

// deadLetters counts the bodies in the dead-letter queue.
func (q *queues) deadLetters(ctx context.Context) (map[string]int, error) {
	bodies := map[string]int{}
	for {
		out, err := q.client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: &q.dead, MaxNumberOfMessages: 10, VisibilityTimeout: 120})
		if err != nil || len(out.Messages) == 0 {
			return bodies, err
		}
		for _, m := range out.Messages {
			bodies[*m.Body]++
			if _, err := q.client.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &q.dead, ReceiptHandle: m.ReceiptHandle}); err != nil {
				return nil, err
			}
		}
	}
}
