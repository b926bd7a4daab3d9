package dynamostore_test

import (
	"context"
	"fmt"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/idempotency/dynamostore"
)

// An order is sent twice. In a program the client is dynamodb.NewFromConfig(cfg).
func Example() {
	client := newFake().client()
	store := dynamostore.New(client, "idempotency")
	shipOrder := func(_ context.Context, o struct{ ID string }) error {
		fmt.Println("shipping", o.ID)
		return nil
	}
	h := batch.Chain(batch.JSON(shipOrder), idempotency.New(store, idempotency.Config{
		Key: idempotency.Field("ID"),
	}))
	for _, message := range []string{"a", "b"} {
		err := h.Handle(context.Background(), batch.Record{MessageID: message, Body: `{"ID":"42"}`, QueueARN: "arn:aws:sqs:eu-west-1:123456789012:orders"})
		fmt.Println(message, err)
	}
	// Output:
	// shipping 42
	// a <nil>
	// b the work was done before
}
