// Command metrics is the function of examples/orders in short, with metrics:
// on Lambda a line for each invocation, in a container one a minute.
package main

import (
	"context"
	"log"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/telemetry/emf"
)

// Order is the body of a message.
type Order struct {
	ID string `json:"id"`
}

func shipOrder(_ context.Context, o Order) error {
	log.Printf("order %s is shipped", o.ID)
	return nil
}

func main() {
	handler.RunWith(batch.JSON(shipOrder), handler.Config{
		Hooks: []any{emf.New(emf.Options{Service: "orders"})},
	})
}
