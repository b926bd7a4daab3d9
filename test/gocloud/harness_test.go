package gocloud

import (
	"context"
	"fmt"
	"strings"
	_ "unsafe" // for go:linkname

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/test/internal/harness"
	"gocloud.dev/pubsub/awssnssqs"
	"gocloud.dev/pubsub/driver"
)

// A world is a test's server. A topic and its subscription are one queue.
type world struct {
	client *awssqs.Client
	server *sqs.Server
	urls   map[driver.Topic]string
}

func newWorld() (*world, error) {
	server, err := sqs.Serve("127.0.0.1:0", sqs.Config{})
	if err != nil {
		return nil, err
	}
	return &world{client: server.Client(), server: server, urls: map[driver.Topic]string{}}, nil
}

func (h *world) CreateTopic(ctx context.Context, testName string) (driver.Topic, func(), error) {
	url, err := harness.MakeQueue(ctx, h.client, strings.ReplaceAll(testName, "/", "-"), nil) // names of queues have no slash
	if err != nil {
		return nil, nil, err
	}
	return h.topic(ctx, url), func() {}, nil // the server ends with the test
}

func (h *world) CreateSubscription(ctx context.Context, topic driver.Topic, _ string) (driver.Subscription, func(), error) {
	url, ok := h.urls[topic]
	if !ok {
		return nil, nil, fmt.Errorf("a topic that this world did not make: %T", topic)
	}
	return openSubscription(ctx, h.client, url, &awssnssqs.SubscriptionOptions{}), func() {}, nil
}

func (h *world) MakeNonexistentTopic(ctx context.Context) (driver.Topic, error) {
	return h.topic(ctx, h.server.URL()+"/000000000000/none"), nil
}

func (h *world) MakeNonexistentSubscription(ctx context.Context) (driver.Subscription, func(), error) {
	topic, err := h.MakeNonexistentTopic(ctx)
	if err != nil {
		return nil, nil, err
	}
	return h.CreateSubscription(ctx, topic, "")
}

func (h *world) topic(ctx context.Context, url string) driver.Topic {
	topic := openSQSTopic(ctx, h.client, url, &awssnssqs.TopicOptions{})
	h.urls[topic] = url
	return topic
}

func (h *world) Close() { h.server.Close() }

// MaxBatchSizes has the limits of SQS's batch calls.
func (h *world) MaxBatchSizes() (int, int) { return 10, 10 }

// SupportsMultipleSubscriptions: each would get every message. A queue is none.
func (h *world) SupportsMultipleSubscriptions() bool { return false }

// The conformance tests take drivers, which awssnssqs does not export: they are
// reached by their names in the linker. With another version than go.mod's these
// may differ.

//go:linkname openSQSTopic gocloud.dev/pubsub/awssnssqs.openSQSTopic
func openSQSTopic(ctx context.Context, client *awssqs.Client, queueURL string, opts *awssnssqs.TopicOptions) driver.Topic

//go:linkname openSubscription gocloud.dev/pubsub/awssnssqs.openSubscription
func openSubscription(ctx context.Context, client *awssqs.Client, queueURL string, opts *awssnssqs.SubscriptionOptions) driver.Subscription
