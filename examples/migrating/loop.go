package main

import (
	"context"
	"log/slog"

	"github.com/sqsbatch/sqsbatch/batch"
)

// loop is the whole function: handler.Run(loop).
var loop = batch.JSON(shipOrder)

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
