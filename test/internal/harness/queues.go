package harness

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// SQSClient is a client of a server at a URL, which checks no signatures.
func SQSClient(url string, options ...func(*sqs.Options)) *sqs.Client {
	return sqs.New(sqs.Options{Region: "us-east-1", BaseEndpoint: &url, Credentials: credentials.NewStaticCredentialsProvider("test", "test", "")}, options...)
}

// MakeQueue makes a queue, FIFO if its name says so, and returns its URL.
func MakeQueue(ctx context.Context, client *sqs.Client, name string, attributes map[string]string) (url string, err error) {
	if strings.HasSuffix(name, ".fifo") {
		attributes = maps.Clone(attributes)
		if attributes == nil {
			attributes = map[string]string{}
		}
		attributes["FifoQueue"] = "true"
	}
	out, err := client.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	if err != nil {
		return "", err
	}
	return *out.QueueUrl, nil
}

// MakeQueues makes a queue and its dead-letter queue.
func MakeQueues(ctx context.Context, client *sqs.Client, name, dead string, maxReceives int) (url, deadURL string, err error) {
	if deadURL, err = MakeQueue(ctx, client, dead, nil); err != nil {
		return "", "", err
	}
	attributes, err := attributesOf(ctx, client, deadURL)
	if err != nil {
		return "", "", err
	}
	url, err = MakeQueue(ctx, client, name, map[string]string{
		"RedrivePolicy": fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":%d}`, attributes["QueueArn"], maxReceives),
	})
	return url, deadURL, err
}

// Depth is how many messages of a queue can be received, and how many are hidden.
func Depth(ctx context.Context, client *sqs.Client, url string) (visible, hidden int, err error) {
	attributes, err := attributesOf(ctx, client, url)
	if err != nil {
		return 0, 0, err
	}
	for name, sum := range map[string]*int{"": &visible, "NotVisible": &hidden, "Delayed": &hidden} {
		n, err := strconv.Atoi(attributes["ApproximateNumberOfMessages"+name])
		if err != nil {
			return 0, 0, err
		}
		*sum += n
	}
	return visible, hidden, nil
}

func attributesOf(ctx context.Context, client *sqs.Client, url string) (map[string]string, error) {
	out, err := client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll}})
	if err != nil {
		return nil, err
	}
	return out.Attributes, nil
}

// RequireEmpty fails as long as a queue has messages, hidden or not.
func RequireEmpty(ctx context.Context, client *sqs.Client, url string) error {
	visible, hidden, err := Depth(ctx, client, url)
	if err == nil && visible+hidden > 0 {
		err = fmt.Errorf("%s has %d messages that can be received, and %d that are hidden", url, visible, hidden)
	}
	return err
}
