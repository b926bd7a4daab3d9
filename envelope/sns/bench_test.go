package sns_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/envelope/sns"
)

type order struct {
	ID    string `json:"id"`
	Items []item `json:"items"`
}

type item struct {
	SKU string `json:"sku"`
	Qty int    `json:"qty"`
}

// orderText is an order of about 500 bytes.
var orderText = `{"id":"o-1","items":[` + strings.TrimSuffix(strings.Repeat(`{"sku":"A-1234567","qty":2},`, 17), ",") + `]}`

func orderEnvelope(b testing.TB) string {
	text, err := json.Marshal(orderText)
	if err != nil {
		b.Fatal(err)
	}
	return strings.Replace(published, `"{\"id\":\"o-1\"}"`, string(text), 1)
}

// BenchmarkUnwrap decodes an order in an envelope with three attributes, beside
// what one writes by hand: two structs, two calls of json.Unmarshal.
func BenchmarkUnwrap(b *testing.B) {
	body := orderEnvelope(b)
	ctx := b.Context()
	sink := 0
	add := func(_ context.Context, o order) error { sink += len(o.Items); return nil }
	run := func(name string, h batch.Handler, body string) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if err := h.Handle(ctx, batch.Record{MessageID: "m-1", Body: body}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	run("impl=sqsbatch", sns.Unwrap(batch.JSON(add)), body)
	run("impl=hand", batch.HandlerFunc(func(ctx context.Context, r batch.Record) error {
		var envelope struct {
			MessageID         string `json:"MessageId"`
			TopicArn          string
			SequenceNumber    string
			Subject           string
			Message           string
			Timestamp         time.Time
			MessageAttributes map[string]struct{ Type, Value string }
		}
		if err := json.Unmarshal([]byte(r.Body), &envelope); err != nil {
			return err
		}
		var o order
		if err := json.Unmarshal([]byte(envelope.Message), &o); err != nil {
			return err
		}
		return add(ctx, o)
	}), body)
	run("raw/impl=sqsbatch", sns.Unwrap(batch.JSON(add)), orderText)
	run("raw/impl=hand", batch.JSON(add), orderText)
	if sink == 0 {
		b.Fatal("no items")
	}
}
