package batch_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

func ExampleEngine_Run() {
	engine, err := batch.New(batch.HandlerFunc(func(_ context.Context, r batch.Record) error {
		if r.Body == "" {
			return batch.Permanent(errors.New("nothing to do"))
		}
		return nil
	}), batch.Config{Concurrency: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	records := []batch.Record{{MessageID: "m-1", Body: "ship it"}, {MessageID: "m-2"}}
	for _, r := range engine.Run(ctx, records, engine.Times(ctx), nil) {
		fmt.Println(r.Record.MessageID, r.Outcome, r.Err)
	}
	// Output:
	// m-1 succeeded <nil>
	// m-2 retry nothing to do
}

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
