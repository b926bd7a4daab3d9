package router_test

import (
	"context"
	"fmt"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/router"
)

func Example() {
	type Order struct{ ID string }
	type Refund struct{ Cents int }
	h := router.New(router.Field("type"), router.Routes{
		"order.placed": router.Part(batch.JSON(func(_ context.Context, o Order) error {
			fmt.Println("ship", o.ID)
			return nil
		}), "data"),
		"order.cancelled": router.Part(batch.JSON(func(_ context.Context, r Refund) error {
			fmt.Println("refund", r.Cents)
			return nil
		}), "data"),
	})
	for _, body := range []string{
		`{"type":"order.placed","data":{"ID":"o-1"}}`,
		`{"type":"order.cancelled","data":{"Cents":250}}`,
		`{"type":"order.cancelled","data":{"Cents":"x"}}`,
		`{"type":"order.archived","data":{}}`,
	} {
		if err := h.Handle(context.Background(), batch.Record{Body: body}); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// ship o-1
	// refund 250
	// malformed body: in "data": field "Cents": a JSON string does not go into int, at offset 9
	// no handler for type "order.archived"
}

func ExampleFirst() {
	type Order struct{ ID string }
	h := router.First(
		batch.JSON(func(_ context.Context, o Order) error {
			fmt.Println("JSON:", o.ID)
			return nil
		}, batch.JSONConfig{DisallowUnknownFields: true}),
		batch.Text(func(_ context.Context, line string) error {
			fmt.Println("a line:", line)
			return nil
		}),
	)
	for _, body := range []string{`{"ID":"o-1"}`, `o-2;2;blue`} {
		_ = h.Handle(context.Background(), batch.Record{Body: body})
	}
	// Output:
	// JSON: o-1
	// a line: o-2;2;blue
}

func ExampleAttribute() {
	h := router.New(router.Attribute("kind"), router.Routes{
		"urgent": batch.Text(func(_ context.Context, body string) error {
			fmt.Println("at once:", body)
			return nil
		}),
	})
	urgent := map[string]batch.MessageAttribute{"kind": {DataType: "String", StringValue: "urgent"}}
	fmt.Println(h.Handle(context.Background(), batch.Record{Body: "o-1", MessageAttributes: urgent}))
	fmt.Println(h.Handle(context.Background(), batch.Record{Body: "o-2"}))
	// Output:
	// at once: o-1
	// <nil>
	// no handler: the message has no attribute "kind" of type String or Number
}
