package sqs_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// What the conformance checks (queues, names, attributes) leave out.
func TestCreateQueue(t *testing.T) {
	virtual(t, func(b *bench) {
		b.queue("existing", "VisibilityTimeout", "60")
		b.queue("existing.fifo")
		for _, tc := range []struct {
			name       string
			attributes map[string]string
			code       string // "" for success
		}{
			{"existing", nil, ""},
			{"existing", map[string]string{"DelaySeconds": "0"}, ""}, // the default
			{"existing", map[string]string{"KmsMasterKeyId": "alias/aws/sqs"}, "QueueAlreadyExists"},
			{"existing.fifo", map[string]string{"FifoQueue": "true"}, ""},
			{"existing.fifo", map[string]string{"FifoQueue": "true", "ContentBasedDeduplication": "true"}, "QueueAlreadyExists"},
			{"", nil, "MissingParameter"},
			{"new", map[string]string{"FifoQueue": "false"}, "InvalidAttributeName"},
			{"new", map[string]string{"FifoQueue": "yes"}, "InvalidAttributeValue"},
			{"new", map[string]string{"QueueArn": "arn"}, "InvalidAttributeName"},
		} {
			out, err := b.CreateQueue(b.ctx, &awssqs.CreateQueueInput{QueueName: &tc.name, Attributes: tc.attributes})
			if tc.code != "" {
				b.wantCode(err, tc.code)
			} else if err != nil || *out.QueueUrl != b.server.QueueURL(tc.name) {
				b.Errorf("%s: %v", tc.name, err)
			}
		}
	})
}

func TestAttributeValues(t *testing.T) {
	for name, tc := range map[string]struct{ good, bad []string }{
		"KmsDataKeyReusePeriodSeconds": {[]string{"60", "86400"}, []string{"59", "86401"}},
		"SqsManagedSseEnabled":         {[]string{"true", "false"}, []string{"yes"}},
		"KmsMasterKeyId":               {[]string{"alias/aws/sqs"}, nil},
		"Policy":                       {[]string{`{"Version":"2012-10-17"}`}, []string{"{", "null", "3"}},
		"ContentBasedDeduplication":    {[]string{"true", "false"}, []string{"1"}},
		"DeduplicationScope":           {[]string{"messageGroup", "queue"}, []string{"group"}},
		"RedriveAllowPolicy":           {[]string{`{"redrivePermission":"allowAll"}`}, nil},
	} {
		virtualRun(t, name, func(b *bench) {
			queue := b.queue("orders.fifo")
			for _, value := range tc.good {
				if err := b.set(queue, name, value); err != nil {
					b.Errorf("%q: %v", value, err)
				}
				if got := b.attributes(queue)[name]; got != value {
					b.Errorf("%q reads back as %q", value, got)
				}
			}
			for _, value := range tc.bad {
				wantType[*types.InvalidAttributeValue](b, b.set(queue, name, value))
			}
		})
	}
}

func TestSetQueueAttributes(t *testing.T) {
	virtual(t, func(b *bench) {
		standard := b.queue("orders")
		wantType[*types.InvalidAttributeName](b, b.set(standard, "DelaySeconds", "1", "Nope", "1"))
		if got := b.attributes(standard)["DelaySeconds"]; got != "0" {
			b.Errorf("a refused request set DelaySeconds to %s", got)
		}
		created := time.Now()
		time.Sleep(time.Minute)
		b.ok(b.set(standard, "Policy", `{"Version":"2012-10-17"}`, "VisibilityTimeout", "5"))
		got := b.attributes(standard)
		if got["LastModifiedTimestamp"] != fmt.Sprint(time.Now().Unix()) || got["CreatedTimestamp"] != fmt.Sprint(created.Unix()) {
			b.Errorf("timestamps %v", got)
		}
		b.ok(b.set(standard, "Policy", ""))
		if _, ok := b.attributes(standard)["Policy"]; ok {
			b.Error("an empty value did not remove the policy")
		}
		b.send(standard, "a")
		b.one(standard)
		time.Sleep(5 * time.Second)
		b.one(standard)
	})
}

func TestGetQueueAttributes(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders")
		got := slices.Sorted(maps.Keys(b.attributes(queue)))
		want := []string{"ApproximateNumberOfMessages", "ApproximateNumberOfMessagesDelayed", "ApproximateNumberOfMessagesNotVisible",
			"CreatedTimestamp", "DelaySeconds", "LastModifiedTimestamp", "MaximumMessageSize", "MessageRetentionPeriod",
			"QueueArn", "ReceiveMessageWaitTimeSeconds", "SqsManagedSseEnabled", "VisibilityTimeout"}
		if !slices.Equal(got, want) {
			b.Errorf("all: %v", got)
		}
		out, err := b.GetQueueAttributes(b.ctx, &awssqs.GetQueueAttributesInput{
			QueueUrl: queue, AttributeNames: []types.QueueAttributeName{"QueueArn", "RedrivePolicy"}})
		if err != nil || len(out.Attributes) != 1 || out.Attributes["QueueArn"] != "arn:aws:sqs:us-east-1:000000000000:orders" {
			b.Errorf("two: %v, %v", out, err)
		}
	})
}

func TestQueueURLs(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders")
		out, err := b.GetQueueUrl(b.ctx, &awssqs.GetQueueUrlInput{QueueName: aws.String("orders")})
		if err != nil || *out.QueueUrl != *queue || *queue != b.server.URL()+"/000000000000/orders" {
			b.Errorf("URL %v, %v", out, err)
		}
		_, err = b.GetQueueUrl(b.ctx, &awssqs.GetQueueUrlInput{QueueName: aws.String("orders"), QueueOwnerAWSAccountId: aws.String("111111111111")})
		wantType[*types.QueueDoesNotExist](b, err)
		for url, exists := range map[string]bool{
			"https://sqs.us-east-1.amazonaws.com/000000000000/orders": true,
			"http://localhost:9324/000000000000/orders":               true,
			"https://sqs.us-east-1.amazonaws.com/111111111111/orders": false,
			"http://localhost:9324/000000000000/other":                false,
			"orders": true, // the bare name
			"other":  false,
			"///":    false,
		} {
			_, err := b.SendMessage(b.ctx, &awssqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("a")})
			if exists && err != nil {
				b.Errorf("%s: %v", url, err)
			}
			if !exists {
				wantType[*types.QueueDoesNotExist](b, err)
			}
		}
	})
}

func TestTagLimits(t *testing.T) {
	virtual(t, func(b *bench) {
		out, err := b.CreateQueue(b.ctx, &awssqs.CreateQueueInput{QueueName: aws.String("orders"), Tags: map[string]string{"team": "ship"}})
		b.ok(err)
		many := map[string]string{}
		for i := range 50 {
			many[fmt.Sprint(i)] = ""
		}
		for _, wrong := range []map[string]string{many, {"": "v"}, {strings.Repeat("k", 129): "v"}, {"k": strings.Repeat("v", 257)}} {
			_, err = b.TagQueue(b.ctx, &awssqs.TagQueueInput{QueueUrl: out.QueueUrl, Tags: wrong})
			b.wantCode(err, "InvalidParameterValue")
		}
		tags, err := b.ListQueueTags(b.ctx, &awssqs.ListQueueTagsInput{QueueUrl: out.QueueUrl})
		if err != nil || !maps.Equal(tags.Tags, map[string]string{"team": "ship"}) {
			b.Errorf("tags %v, %v", tags, err)
		}
	})
}

func TestListQueuesRefusesATokenThatIsNone(t *testing.T) {
	virtual(t, func(b *bench) {
		_, err := b.ListQueues(b.ctx, &awssqs.ListQueuesInput{NextToken: aws.String("?")})
		b.wantCode(err, "InvalidParameterValue")
	})
}
