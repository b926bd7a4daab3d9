package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/router"
)

// byField is the consumer for bodies that say their type.
var byField = router.New(router.Field("type"), router.Routes{
	"order.placed":    router.Part(batch.JSON(ship), "data"),
	"order.cancelled": router.Part(batch.JSON(refund), "data"),
})

// byAttribute is the consumer for senders that put the type into a message
// attribute. The body is the order or the cancellation itself.
var byAttribute = router.New(router.Attribute("type"), router.Routes{
	"order.placed":    batch.JSON(ship),
	"order.cancelled": batch.JSON(refund),
})

// Placed is the data of "order.placed".
type Placed struct {
	ID       string `json:"id"`
	SKU      string `json:"sku"`
	Quantity int    `json:"quantity"`
}

// Validate is called by batch.JSON. Its error is logged, so it names the field and not the
// value.
func (o Placed) Validate() error {
	if o.SKU == "" {
		return errors.New("no sku")
	}
	return nil
}

// Cancellation is the data of "order.cancelled".
type Cancellation struct {
	ID     string `json:"id"`
	Reason string `json:"reason"`
}

func ship(ctx context.Context, o Placed) error {
	slog.InfoContext(ctx, "shipped", "order", o.ID, "quantity", o.Quantity)
	return nil
}

func refund(ctx context.Context, c Cancellation) error {
	slog.InfoContext(ctx, "refunded", "order", c.ID)
	return nil
}
