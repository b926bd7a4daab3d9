package gocloud

import (
	"context"
	_ "unsafe" // for go:linkname

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"gocloud.dev/pubsub/awssnssqs"
	"gocloud.dev/pubsub/driver"
)

// The conformance tests take drivers, which awssnssqs does not export: they are
// reached by their names in the linker. With another version than go.mod's these
// may differ.

//go:linkname openSQSTopic gocloud.dev/pubsub/awssnssqs.openSQSTopic
func openSQSTopic(ctx context.Context, client *awssqs.Client, queueURL string, opts *awssnssqs.TopicOptions) driver.Topic

//go:linkname openSubscription gocloud.dev/pubsub/awssnssqs.openSubscription
func openSubscription(ctx context.Context, client *awssqs.Client, queueURL string, opts *awssnssqs.SubscriptionOptions) driver.Subscription
