package s3event_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/envelope/s3event"
	"github.com/sqsbatch/sqsbatch/envelope/sns"
)

// BenchmarkEach decodes a notification of one record, as S3 sends it, beside
// json.Unmarshal into events.S3Event; and the same in an SNS envelope.
func BenchmarkEach(b *testing.B) {
	body := notification("in/2026/11/21/Happy+Face.jpg")
	text, err := json.Marshal(body)
	if err != nil {
		b.Fatal(err)
	}
	enveloped := `{"Type":"Notification","MessageId":"n-1","TopicArn":"arn:aws:sns:eu-west-1:123456789012:t","Subject":"Amazon S3 Notification","Message":` + string(text) +
		`,"Timestamp":"2026-11-21T05:12:16.901Z","SignatureVersion":"1","Signature":"x","SigningCertURL":"x","UnsubscribeURL":"x"}`
	ctx := b.Context()
	sink := 0
	add := func(_ context.Context, r events.S3EventRecord) error {
		sink += len(r.S3.Object.URLDecodedKey)
		return nil
	}
	byHand := func(ctx context.Context, body string) error {
		var e events.S3Event
		if err := json.Unmarshal([]byte(body), &e); err != nil {
			return err
		}
		for _, r := range e.Records {
			if err := add(ctx, r); err != nil {
				return err
			}
		}
		return nil
	}
	for _, c := range []struct {
		name, body string
		h          batch.Handler
	}{
		{"impl=sqsbatch", body, s3event.Each(add)},
		{"impl=hand", body, batch.Text(byHand)},
		{"in=SNS/impl=sqsbatch", enveloped, sns.Unwrap(s3event.Each(add))},
		{"in=SNS/impl=hand", enveloped, batch.Text(func(ctx context.Context, body string) error {
			var e events.SNSEntity
			if err := json.Unmarshal([]byte(body), &e); err != nil {
				return err
			}
			return byHand(ctx, e.Message)
		})},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.body)))
			b.ReportAllocs()
			for b.Loop() {
				if err := c.h.Handle(ctx, batch.Record{MessageID: "m-1", Body: c.body}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	if sink == 0 {
		b.Fatal("no keys")
	}
}
