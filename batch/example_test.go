package batch_test

import (
	"context"
	"fmt"

	"github.com/sqsbatch/sqsbatch/batch"
)

func ExampleJSON() {
	type order struct{ ID string }
	ship := batch.JSON(func(ctx context.Context, o order) error {
		r, _ := batch.RecordFrom(ctx)
		fmt.Println(o.ID, "at attempt", r.Attempt)
		return nil
	})
	r := batch.Record{Body: `{"ID":"o-1"}`, Attempt: 2}
	fmt.Println(ship.Handle(batch.WithRecord(context.Background(), r), r))
	fmt.Println(ship.Handle(context.Background(), batch.Record{Body: `{"ID":7}`}))
	// Output:
	// o-1 at attempt 2
	// <nil>
	// malformed body: field "ID": a JSON number does not go into string, at offset 6
}

func ExampleChain() {
	timed := func(next batch.Handler) batch.Handler {
		return batch.HandlerFunc(func(ctx context.Context, r batch.Record) error {
			fmt.Println("before", r.MessageID)
			defer fmt.Println("after", r.MessageID)
			return next.Handle(ctx, r)
		})
	}
	h := batch.Chain(batch.HandlerFunc(func(context.Context, batch.Record) error {
		fmt.Println("handled")
		return nil
	}), timed)
	_ = h.Handle(context.Background(), batch.Record{MessageID: "m-1"})
	// Output:
	// before m-1
	// handled
	// after m-1
}
