package sqs_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

func TestAQueueHasOneKindOfEncryption(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders")
		want := func(managed, key, period string) {
			b.Helper()
			got := b.attributes(queue)
			if got["SqsManagedSseEnabled"] != managed || got["KmsMasterKeyId"] != key || got["KmsDataKeyReusePeriodSeconds"] != period {
				b.Errorf("attributes %v", got)
			}
		}
		want("true", "", "")
		wantType[*types.InvalidAttributeName](b, b.set(queue, "KmsMasterKeyId", "alias/aws/sqs", "SqsManagedSseEnabled", "true"))
		want("true", "", "")
		b.ok(b.set(queue, "KmsMasterKeyId", "alias/aws/sqs"))
		want("false", "alias/aws/sqs", "300")
		wantType[*types.InvalidAttributeName](b, b.set(queue, "SqsManagedSseEnabled", "true"))
		b.ok(b.set(queue, "KmsDataKeyReusePeriodSeconds", "60"))
		want("false", "alias/aws/sqs", "60")
		b.ok(b.set(queue, "KmsMasterKeyId", "", "SqsManagedSseEnabled", "true"))
		want("true", "", "")
	})
}
