// Command loop shows the result of moving a hand-written loop over events.SQSEvent to
// sqsbatch.
package main

import (
	"context"
	"log/slog"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
)

var consumer = batch.JSON(shipOrder)

func main() { handler.Run(consumer) }

// Order is a message.
type Order struct {
	ID       string `json:"id"`
	SKU      string `json:"sku"`
	Quantity int    `json:"quantity"`
}

func shipOrder(ctx context.Context, o Order) error {
	slog.InfoContext(ctx, "shipped", "order", o.ID, "quantity", o.Quantity)
	return nil
}
