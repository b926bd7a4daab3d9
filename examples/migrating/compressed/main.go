// Command compressed shows the result of moving a function that decompresses bodies by hand
// to sqsbatch.
package main

import (
	"context"
	"log/slog"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/payload/encoded"
)

var consumer = encoded.Unwrap(batch.JSON(shipOrder))

func main() { handler.Run(consumer) }

// Order is a message, compressed or not.
type Order struct {
	ID       string `json:"id"`
	SKU      string `json:"sku"`
	Quantity int    `json:"quantity"`
}

func shipOrder(ctx context.Context, o Order) error {
	slog.InfoContext(ctx, "shipped", "order", o.ID, "quantity", o.Quantity)
	return nil
}
