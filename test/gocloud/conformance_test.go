package gocloud

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

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
		return newWorld()
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
