package idempotency_test

import (
	"context"
	"fmt"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/idempotency"
)

func ExampleNew() {
	type order struct {
		ID string `json:"id"`
	}
	ship := batch.JSON(func(_ context.Context, o order) error {
		fmt.Println("shipped", o.ID)
		return nil
	})
	store := idempotency.NewMemory() // dynamostore.New(client, "idempotency") in production
	h := batch.Chain(ship, idempotency.New(store, idempotency.Config{Key: idempotency.Field("id")}))

	// handler.Run(h) calls the handler with each record. The same order comes twice:
	for _, id := range []string{"m-1", "m-2"} {
		fmt.Println(h.Handle(context.Background(), batch.Record{MessageID: id, Body: `{"id":"o-1"}`}))
	}
	// Output:
	// shipped o-1
	// <nil>
	// the work was done before
}

func ExampleKeep() {
	price := batch.Text(func(ctx context.Context, article string) error {
		return idempotency.Keep(ctx, 42)
	})
	h := batch.Chain(price, idempotency.New(idempotency.NewMemory(), idempotency.Config{
		Key: idempotency.Body,
		OnDuplicate: idempotency.Kept(func(_ context.Context, price int) error {
			fmt.Println("it was", price)
			return nil
		}),
	}))
	for range 2 {
		_ = h.Handle(context.Background(), batch.Record{Body: "chair"})
	}
	// Output: it was 42
}
