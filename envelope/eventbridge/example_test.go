package eventbridge_test

import (
	"context"
	"fmt"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/envelope/eventbridge"
)

const event = `{"version":"0","id":"e-1","detail-type":"Order Placed","source":"com.example.shop","account":"123456789012",
	"time":"2026-11-21T18:43:48Z","region":"eu-west-1","resources":[],"detail":{"orderId":"o-1"}}`

type orderPlaced struct {
	OrderID string `json:"orderId"`
}

func ExampleJSON() {
	h := eventbridge.JSON(func(_ context.Context, e eventbridge.Event[orderPlaced]) error {
		fmt.Println(e.DetailType, e.Detail.OrderID, e.Time)
		return nil
	})
	// This is what main gives to handler.Run, and SQS to the function.
	fmt.Println(h.Handle(context.Background(), batch.Record{Body: event}))
	fmt.Println(h.Handle(context.Background(), batch.Record{Body: `{"source":"com.example.shop","detail-type":"Order Placed","detail":{"orderId":7}}`}))
	// Output:
	// Order Placed o-1 2026-11-21 18:43:48 +0000 UTC
	// <nil>
	// malformed body: field "detail.orderId": a JSON number does not go into string, at offset 78
}

func ExampleUnwrap() {
	h := eventbridge.Unwrap(batch.JSON(func(ctx context.Context, o orderPlaced) error {
		e, _ := eventbridge.From(ctx)
		fmt.Println(o.OrderID, "from", e.Source)
		return nil
	}))
	fmt.Println(h.Handle(context.Background(), batch.Record{Body: event}))
	// Output:
	// o-1 from com.example.shop
	// <nil>
}
