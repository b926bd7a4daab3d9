package containers

import (
	"context"
	"fmt"
	"net/http"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// queues are a queue and its dead-letter queue, on a server of their own.
type queues struct {
	server       *sqs.Server
	client       *awssqs.Client
	url, deadURL string
}

func serveQueues(ctx context.Context) (*queues, error) {
	server, err := sqs.Serve("127.0.0.1:0", sqs.Options{})
	if err != nil {
		return nil, err
	}
	q := &queues{server: server, client: server.Client()}
	for name, url := range map[string]*string{"orders": &q.url, "orders-dead": &q.deadURL} {
		out, err := q.client.CreateQueue(ctx, &awssqs.CreateQueueInput{QueueName: &name})
		if err != nil {
			_ = server.Close()
			return nil, err
		}
		*url = *out.QueueUrl
	}
	return q, nil
}

func (q *queues) close() { _ = q.server.Close() }

func (q *queues) send(ctx context.Context, body string) error {
	_, err := q.client.SendMessage(ctx, &awssqs.SendMessageInput{QueueUrl: &q.url, MessageBody: &body})
	return err
}

func (q *queues) purge(ctx context.Context) error {
	_, err := q.client.PurgeQueue(ctx, &awssqs.PurgeQueueInput{QueueUrl: &q.url})
	return err
}

// counts reports whether so many messages are visible, in flight and dead.
func (q *queues) counts(ctx context.Context, visible, inFlight, dead int) (string, bool) {
	count := func(url string) (counts [2]string, err error) {
		names := []types.QueueAttributeName{types.QueueAttributeNameApproximateNumberOfMessages, types.QueueAttributeNameApproximateNumberOfMessagesNotVisible}
		out, err := q.client.GetQueueAttributes(ctx, &awssqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: names})
		if err != nil {
			return counts, err
		}
		for i, name := range names {
			counts[i] = out.Attributes[string(name)]
		}
		return counts, nil
	}
	main, err := count(q.url)
	if err != nil {
		return err.Error(), false
	}
	letters, err := count(q.deadURL)
	if err != nil {
		return err.Error(), false
	}
	got := fmt.Sprintf("%s visible, %s in flight, %s dead", main[0], main[1], letters[0])
	return got, got == fmt.Sprintf("%d visible, %d in flight, %d dead", visible, inFlight, dead)
}

func get(ctx context.Context, url string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, answer.Status)
	}
	return nil
}
