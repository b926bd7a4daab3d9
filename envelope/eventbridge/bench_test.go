package eventbridge_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/envelope/eventbridge"
)

// BenchmarkEvent decodes an event with an order of about 500 bytes, beside what
// one writes by hand: json.Unmarshal of the event, then of its detail.
func BenchmarkEvent(b *testing.B) {
	detail := `{"id":"o-1","items":[` + strings.TrimSuffix(strings.Repeat(`{"sku":"A-1234567","qty":2},`, 17), ",") + `]}`
	body := strings.Replace(placed, placedDetail, detail, 1)
	ctx := b.Context()
	sink := 0
	add := func(_ context.Context, o order) error { sink += len(o.Items); return nil }
	for _, c := range []struct {
		name string
		h    batch.Handler
	}{
		{"JSON/impl=sqsbatch", eventbridge.JSON(func(ctx context.Context, e eventbridge.Event[order]) error { return add(ctx, e.Detail) })},
		{"Unwrap/impl=sqsbatch", eventbridge.Unwrap(batch.JSON(add))},
		{"impl=hand", batch.HandlerFunc(func(ctx context.Context, r batch.Record) error {
			var e events.EventBridgeEvent
			if err := json.Unmarshal([]byte(r.Body), &e); err != nil {
				return err
			}
			var o order
			if err := json.Unmarshal(e.Detail, &o); err != nil {
				return err
			}
			return add(ctx, o)
		})},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if err := c.h.Handle(ctx, batch.Record{MessageID: "m-1", Body: body}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	if sink == 0 {
		b.Fatal("no items")
	}
}
