package s3payload_test

import (
	"context"
	"testing"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/envelope/sns"
	"github.com/sqsbatch/sqsbatch/payload/s3payload"
)

// Amazon's clients for SNS publish the same pointer, in an envelope or raw.
func TestPointersByWayOfSNS(t *testing.T) {
	f := newS3(t)
	f.objects["payloads/a/1"] = order
	var got batch.Record
	h := batch.Chain(batch.HandlerFunc(func(_ context.Context, r batch.Record) error {
		got = r
		return nil
	}), sns.Unwrap, s3payload.Unwrap(s3payload.Config{Buckets: buckets, Client: f.client()}))
	envelope := `{"Type":"Notification","MessageId":"9a0c","TopicArn":"arn:aws:sns:eu-west-1:123456789012:orders",` +
		`"Message":"[\"software.amazon.payloadoffloading.PayloadS3Pointer\",{\"s3BucketName\":\"payloads\",\"s3Key\":\"a/1\"}]",` +
		`"Timestamp":"2026-11-21T12:00:00.000Z","MessageAttributes":{"ExtendedPayloadSize":{"Type":"Number","Value":"33"},"kind":{"Type":"String","Value":"order"}}}`
	for name, r := range map[string]batch.Record{
		"in an envelope": record(envelope, nil),
		"raw":            record(newer, map[string]batch.MessageAttribute{"ExtendedPayloadSize": number(33), "kind": text("order")}),
	} {
		if err := h.Handle(t.Context(), r); err != nil || got.Body != order || len(got.MessageAttributes) != 1 || got.MessageAttributes["kind"].StringValue != "order" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if err := h.Handle(t.Context(), record(envelope[:len(envelope)-40], nil)); err == nil {
		t.Error("an envelope that is cut was handled")
	}
}
