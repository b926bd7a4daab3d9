// Command eventbridge shows the result of moving a function that decodes EventBridge's
// events by hand to sqsbatch.
package main

import (
	"context"
	"log/slog"

	"github.com/sqsbatch/sqsbatch/envelope/eventbridge"
	"github.com/sqsbatch/sqsbatch/handler"
)

var consumer = eventbridge.JSON(onOrder)

func main() { handler.Run(consumer) }

// Order is the detail of an event.
type Order struct {
	ID       string `json:"id"`
	SKU      string `json:"sku"`
	Quantity int    `json:"quantity"`
}

func onOrder(ctx context.Context, e eventbridge.Event[Order]) error {
	if e.DetailType != "OrderPlaced" {
		return nil // a rule's pattern that lets only these pass would be cheaper
	}
	slog.InfoContext(ctx, "shipped", "order", e.Detail.ID, "quantity", e.Detail.Quantity, "source", e.Source)
	return nil
}
