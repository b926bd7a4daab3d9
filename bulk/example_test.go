package bulk_test

import (
	"context"
	"fmt"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/bulk"
	"github.com/sqsbatch/sqsbatch/internal/hooks"
	"github.com/sqsbatch/sqsbatch/internal/runner"
)

type Order struct {
	ID  string
	SKU string
}

func insertOrders(ctx context.Context, items []bulk.Item[Order]) error {
	fmt.Println("one INSERT of", len(items), "rows")
	for i := range items {
		if items[i].Value.SKU == "" { // or what the database says of this row
			items[i].Fail(batch.RetryAfter(0, fmt.Errorf("order %s has no SKU yet", items[i].Value.ID)))
		}
	}
	return nil // an error would fail all the others
}

func ExampleJSON() {
	insert := bulk.JSON(insertOrders, bulk.Config{MaxItems: 100})
	// In a main function: handler.Run(insert). The engine that it runs:
	engine := runner.New(insert, runner.Config{}, &hooks.Set{})
	records := []batch.Record{
		{MessageID: "m-1", Body: `{"ID":"1","SKU":"lamp"}`},
		{MessageID: "m-2", Body: `{"ID":"2"}`},
		{MessageID: "m-3", Body: `{"ID":"3","SKU":"desk"}`},
	}
	for _, r := range engine.Run(context.Background(), records, runner.Options{}) {
		fmt.Println(r.Record.MessageID, r.Outcome, r.Err)
	}
	// Output:
	// one INSERT of 3 rows
	// m-1 succeeded <nil>
	// m-2 retry order 2 has no SKU yet
	// m-3 succeeded <nil>
}

// A function of many records is tested like any other.
func ExampleItem_Err() {
	items := []bulk.Item[Order]{{Value: Order{ID: "1", SKU: "lamp"}}, {Value: Order{ID: "2"}}}
	err := insertOrders(context.Background(), items)
	fmt.Println(err, items[0].Err(), items[1].Err())
	// Output:
	// one INSERT of 2 rows
	// <nil> <nil> order 2 has no SKU yet
}
