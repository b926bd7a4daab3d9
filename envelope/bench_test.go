package envelope_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/envelope/eventbridge"
	"github.com/sqsbatch/sqsbatch/envelope/s3event"
	"github.com/sqsbatch/sqsbatch/envelope/sns"
)

// unmarshal decodes as one would by hand, and goes on with what the envelope holds.
func unmarshal[T any](next func(T) error) batch.HandlerFunc {
	return func(_ context.Context, r batch.Record) error {
		var v T
		if err := json.Unmarshal([]byte(r.Body), &v); err != nil {
			return err
		}
		return next(v)
	}
}

// BenchmarkEnvelope takes an order of about 500 bytes, or a notification of S3, out of
// its envelope. The opponent is json.Unmarshal of the envelope, then of what is in it.
func BenchmarkEnvelope(b *testing.B) {
	text := `{"id":"o-1","items":[` + strings.TrimSuffix(strings.Repeat(`{"sku":"A-1234567","qty":2},`, 17), ",") + `]}`
	event := `{"version":"0","id":"e-1","detail-type":"Order Placed","source":"shop","time":"2026-11-21T18:43:48Z","detail":` + text + `}`
	object := `{"Records":[{"eventSource":"aws:s3","eventTime":"2026-11-21T10:00:00.123Z","eventName":"ObjectCreated:Put","s3":{"bucket":{"name":"b"},"object":{"key":"a+b.jpg","size":1024}}}]}`
	onOrder := func(context.Context, order) error { return nil }
	decode := func(text []byte) error { return json.Unmarshal(text, new(order)) }
	for name, c := range map[string]struct {
		body      string
		own, hand batch.Handler
	}{
		"sns":                {notify(text), sns.Unwrap(batch.JSON(onOrder)), unmarshal(func(e events.SNSEntity) error { return decode([]byte(e.Message)) })},
		"sns-raw":            {text, sns.Unwrap(batch.JSON(onOrder)), batch.JSON(onOrder)},
		"eventbridge":        {event, eventbridge.JSON(func(context.Context, eventbridge.Event[order]) error { return nil }), unmarshal(func(e events.EventBridgeEvent) error { return decode(e.Detail) })},
		"eventbridge-unwrap": {event, eventbridge.Unwrap(batch.JSON(onOrder)), unmarshal(func(e events.EventBridgeEvent) error { return decode(e.Detail) })},
		"s3event":            {object, s3event.Each(func(context.Context, events.S3EventRecord) error { return nil }), unmarshal(func(events.S3Event) error { return nil })},
	} {
		for impl, h := range map[string]batch.Handler{"sqsbatch": c.own, "hand": c.hand} {
			b.Run(name+"/impl="+impl, func(b *testing.B) {
				b.SetBytes(int64(len(c.body)))
				b.ReportAllocs()
				for b.Loop() {
					if err := h.Handle(b.Context(), batch.Record{MessageID: "m-1", Body: c.body}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
