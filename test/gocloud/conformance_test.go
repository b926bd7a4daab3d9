// The conformance tests of gocloud.dev's pubsub with its driver for SQS, which is what programs use
// that say pubsub.OpenTopic("awssqs://…"), against emulator/sqs. They say what it must do on AWS.

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	_ "unsafe" // for go:linkname

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/test/internal/harness"
	"gocloud.dev/pubsub/awssnssqs"
	"gocloud.dev/pubsub/driver"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
	"gocloud.dev/pubsub"
	"gocloud.dev/pubsub/drivertest"
)

// skips are the tests that gocloud.dev does not run for SQS on AWS either: a
// queue has no second subscription that gets every message as well.
var skips = []string{"TestConformance/TestSendReceiveTwo"}

func TestConformance(t *testing.T) {
	var skipped []string
	ran := 0
	drivertest.RunConformanceTests(t, func(_ context.Context, t *testing.T) (drivertest.Harness, error) {
		t.Cleanup(func() {
			if ran++; t.Skipped() {
				skipped = append(skipped, t.Name())
			}
		})
		return newHarness()
	}, []drivertest.AsTest{asTest{}})
	if !slices.Equal(skipped, skips) {
		t.Errorf("skipped %q, expected %q", skipped, skips)
	}
	t.Logf("%d tests, %d skipped", ran, len(skipped))
}

// An asTest checks the types of AWS's SDK that awssnssqs lists under "As".
type asTest struct{}

func (asTest) Name() string { return "types of the SDK" }

func (asTest) TopicCheck(topic *pubsub.Topic) error {
	return reached[*awssqs.Client](topic.As)
}

func (asTest) SubscriptionCheck(subscription *pubsub.Subscription) error {
	return reached[*awssqs.Client](subscription.As)
}

func (asTest) MessageCheck(m *pubsub.Message) error {
	return reached[types.Message](m.As)
}

func (asTest) BeforeSend(as func(any) bool) error {
	return reached[*types.SendMessageBatchRequestEntry](as)
}

func (asTest) AfterSend(as func(any) bool) error {
	return reached[types.SendMessageBatchResultEntry](as)
}

func (asTest) TopicErrorCheck(topic *pubsub.Topic, err error) error {
	return noQueue(err, topic.ErrorAs)
}

func (asTest) SubscriptionErrorCheck(subscription *pubsub.Subscription, err error) error {
	return noQueue(err, subscription.ErrorAs)
}

func reached[T any](as func(any) bool) error {
	var value T
	if !as(&value) {
		return fmt.Errorf("no %T is to be had", value)
	}
	return nil
}

// noQueue wants the code of the query protocol, which AWS sends to the SDK in a
// header as well, and which the SDK puts into the error.
func noQueue(err error, as func(error, any) bool) error {
	var api smithy.APIError
	if !as(err, &api) {
		return errors.New("no smithy.APIError is to be had")
	}
	if api.ErrorCode() != "AWS.SimpleQueueService.NonExistentQueue" {
		return fmt.Errorf("the code is %q: %w", api.ErrorCode(), err)
	}
	return nil
}

// A driverHarness is a test's server. A topic and its subscription are one queue.
type driverHarness struct {
	client *awssqs.Client
	server *sqs.Server
	urls   map[driver.Topic]string
}

func newHarness() (*driverHarness, error) {
	server, err := sqs.Serve("127.0.0.1:0", sqs.Config{})
	if err != nil {
		return nil, err
	}
	return &driverHarness{client: server.Client(), server: server, urls: map[driver.Topic]string{}}, nil
}

func (h *driverHarness) CreateTopic(ctx context.Context, testName string) (driver.Topic, func(), error) {
	url, err := harness.MakeQueue(ctx, h.client, strings.ReplaceAll(testName, "/", "-"), nil) // names of queues have no slash
	if err != nil {
		return nil, nil, err
	}
	return h.topic(ctx, url), func() {}, nil // the server ends with the test
}

func (h *driverHarness) CreateSubscription(ctx context.Context, topic driver.Topic, _ string) (driver.Subscription, func(), error) {
	url, ok := h.urls[topic]
	if !ok {
		return nil, nil, fmt.Errorf("a topic that this world did not make: %T", topic)
	}
	return openSubscription(ctx, h.client, url, &awssnssqs.SubscriptionOptions{}), func() {}, nil
}

func (h *driverHarness) MakeNonexistentTopic(ctx context.Context) (driver.Topic, error) {
	return h.topic(ctx, h.server.URL()+"/000000000000/none"), nil
}

func (h *driverHarness) MakeNonexistentSubscription(ctx context.Context) (driver.Subscription, func(), error) {
	topic, err := h.MakeNonexistentTopic(ctx)
	if err != nil {
		return nil, nil, err
	}
	return h.CreateSubscription(ctx, topic, "")
}

func (h *driverHarness) topic(ctx context.Context, url string) driver.Topic {
	topic := openSQSTopic(ctx, h.client, url, &awssnssqs.TopicOptions{})
	h.urls[topic] = url
	return topic
}

func (h *driverHarness) Close() { h.server.Close() }

// MaxBatchSizes has the limits of SQS's batch calls.
func (h *driverHarness) MaxBatchSizes() (int, int) { return 10, 10 }

// SupportsMultipleSubscriptions: each would get every message. A queue is none.
func (h *driverHarness) SupportsMultipleSubscriptions() bool { return false }

// The conformance tests take drivers, which awssnssqs does not export: they are
// reached by their names in the linker. With another version than go.mod's these
// may differ.

//go:linkname openSQSTopic gocloud.dev/pubsub/awssnssqs.openSQSTopic
func openSQSTopic(ctx context.Context, client *awssqs.Client, queueURL string, opts *awssnssqs.TopicOptions) driver.Topic

//go:linkname openSubscription gocloud.dev/pubsub/awssnssqs.openSubscription
func openSubscription(ctx context.Context, client *awssqs.Client, queueURL string, opts *awssnssqs.SubscriptionOptions) driver.Subscription
