package sqs_test

import (
	"testing"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

func TestAQueueHasOneKindOfEncryption(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders")
		set := func(attributes map[string]string) error {
			_, err := b.SetQueueAttributes(b.ctx, &awssqs.SetQueueAttributesInput{QueueUrl: queue, Attributes: attributes})
			return err
		}
		want := func(managed, key, period string) {
			b.Helper()
			got := b.attributes(queue)
			if got["SqsManagedSseEnabled"] != managed || got["KmsMasterKeyId"] != key || got["KmsDataKeyReusePeriodSeconds"] != period {
				b.Errorf("attributes %v", got)
			}
		}
		want("true", "", "")
		wantType[*types.InvalidAttributeName](b, set(map[string]string{"KmsMasterKeyId": "alias/aws/sqs", "SqsManagedSseEnabled": "true"}))
		want("true", "", "")
		if err := set(map[string]string{"KmsMasterKeyId": "alias/aws/sqs"}); err != nil {
			b.Fatal(err)
		}
		want("false", "alias/aws/sqs", "300")
		wantType[*types.InvalidAttributeName](b, set(map[string]string{"SqsManagedSseEnabled": "true"}))
		if err := set(map[string]string{"KmsDataKeyReusePeriodSeconds": "60"}); err != nil {
			b.Fatal(err)
		}
		want("false", "alias/aws/sqs", "60")
		if err := set(map[string]string{"KmsMasterKeyId": "", "SqsManagedSseEnabled": "true"}); err != nil {
			b.Fatal(err)
		}
		want("true", "", "")
	})
}
