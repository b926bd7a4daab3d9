package router_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/router"
)

// BenchmarkRoute finds the handler of an order of about 500 bytes and decodes it, compared with
// what one writes by hand: a struct with the type and the rest raw, then the rest.
func BenchmarkRoute(b *testing.B) {
	type line struct {
		SKU string `json:"sku"`
		Qty int    `json:"qty"`
	}
	type order struct {
		ID    string `json:"id"`
		Items []line `json:"items"`
	}
	data := `{"id":"o-1","items":[` + strings.TrimSuffix(strings.Repeat(`{"sku":"A-1234567","qty":2},`, 17), ",") + `]}`
	body := `{"id":"e-1","type":"order.placed","data":` + data + `}`
	sink := 0
	ship := func(_ context.Context, o order) error { sink += len(o.Items); return nil }
	for _, c := range []struct {
		name string
		h    batch.Handler
	}{
		{"impl=sqsbatch", router.New(router.Field("type"), router.Routes{"order.placed": router.Part(batch.JSON(ship), "data")})},
		{"impl=hand", batch.HandlerFunc(func(ctx context.Context, r batch.Record) error {
			var e struct {
				Type string
				Data json.RawMessage
			}
			if err := json.Unmarshal([]byte(r.Body), &e); err != nil {
				return err
			}
			if e.Type != "order.placed" {
				return fmt.Errorf("no handler for %s", e.Type)
			}
			var o order
			if err := json.Unmarshal(e.Data, &o); err != nil {
				return err
			}
			return ship(ctx, o)
		})},
		{"no-routes/impl=hand", batch.JSON(func(ctx context.Context, e struct{ Data order }) error { return ship(ctx, e.Data) })},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := c.h.Handle(context.Background(), batch.Record{MessageID: "m-1", Body: body}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	if sink == 0 {
		b.Fatal("no items")
	}
}
