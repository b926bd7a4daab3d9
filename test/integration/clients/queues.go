package clients

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

type queues struct {
	client    *awssqs.Client
	url, dead string
}

func makeQueues(ctx context.Context, endpoint string, p plan) (*queues, error) {
	q := &queues{client: awssqs.New(awssqs.Options{
		Region: "us-east-1", BaseEndpoint: &endpoint, Credentials: credentials.NewStaticCredentialsProvider("any", "any", ""),
	})}
	attributes := map[string]string{}
	if strings.HasSuffix(p.queue, ".fifo") {
		attributes["FifoQueue"] = "true"
	}
	var err error
	if q.dead, err = q.make(ctx, "dead-"+p.queue, attributes); err != nil {
		return nil, err
	}
	out, err := q.client.GetQueueAttributes(ctx, &awssqs.GetQueueAttributesInput{
		QueueUrl: &q.dead, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameQueueArn},
	})
	if err != nil {
		return nil, err
	}
	attributes["RedrivePolicy"] = fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":%d}`, out.Attributes["QueueArn"], maxReceives)
	q.url, err = q.make(ctx, p.queue, attributes)
	return q, err
}

func (q *queues) make(ctx context.Context, name string, attributes map[string]string) (string, error) {
	out, err := q.client.CreateQueue(ctx, &awssqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	if err != nil {
		return "", err
	}
	return *out.QueueUrl, nil
}

// count is how many messages there are, in flight or not.
func (q *queues) count(ctx context.Context, url string) (int, error) {
	out, err := q.client.GetQueueAttributes(ctx, &awssqs.GetQueueAttributesInput{
		QueueUrl: &url, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll},
	})
	if err != nil {
		return 0, err
	}
	sum := 0
	for _, name := range []string{"", "NotVisible", "Delayed"} {
		n, err := strconv.Atoi(out.Attributes["ApproximateNumberOfMessages"+name])
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// empty waits until the queue has no messages: they were deleted, or moved.
func (q *queues) empty(ctx context.Context) error {
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		n, err := q.count(ctx, q.url)
		if err != nil || n == 0 {
			return err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return fmt.Errorf("%d messages are still in %s: %w", n, q.url, context.Cause(ctx))
		}
	}
}

// deadLetters wants the numbers in the dead-letter queue to be those of the plan.
func (q *queues) deadLetters(ctx context.Context, p plan) error {
	var want, got []string
	for _, t := range p.all() {
		if t.dead() {
			want = append(want, strconv.Itoa(t.n))
		}
	}
	for {
		out, err := q.client.ReceiveMessage(ctx, &awssqs.ReceiveMessageInput{
			QueueUrl: &q.dead, MaxNumberOfMessages: 10, MessageAttributeNames: []string{"All"},
		})
		if err != nil {
			return err
		}
		if len(out.Messages) == 0 {
			break
		}
		for _, m := range out.Messages {
			number := ""
			if a := m.MessageAttributes["number"]; a.StringValue != nil {
				number = *a.StringValue
			}
			got = append(got, number)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		return fmt.Errorf("dead letters %q, expected %q", got, want)
	}
	return nil
}
