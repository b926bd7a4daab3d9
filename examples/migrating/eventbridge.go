package main

import (
	"context"
	"log/slog"

	"github.com/sqsbatch/sqsbatch/envelope/eventbridge"
)

// placed is the consumer of a rule's events.
var placed = eventbridge.JSON(onOrder)

func onOrder(ctx context.Context, e eventbridge.Event[Order]) error {
	if e.DetailType != "OrderPlaced" {
		return nil // a rule's pattern that lets only these pass would be cheaper
	}
	slog.InfoContext(ctx, "shipped", "order", e.Detail.ID, "quantity", e.Detail.Quantity, "source", e.Source)
	return nil
}
