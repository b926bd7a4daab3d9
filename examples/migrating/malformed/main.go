// Command malformed shows the result of moving a function that logs what it cannot decode
// and returns nil to sqsbatch.
package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

var (
	consumer = batch.JSON(recordClick)
	config   = handler.Config{Failures: partialfailure.Config{OnPermanent: partialfailure.Drop}} // or SQSBATCH_ON_PERMANENT=drop
)

func main() { handler.RunWith(consumer, config) }

// Click is a click on an article. Losing one does no harm.
type Click struct {
	SKU      string `json:"sku"`
	Quantity int    `json:"quantity"`
}

// Validate is asked by batch.JSON. What it says is logged, so it names the field
// and not the value.
func (c Click) Validate() error {
	if c.Quantity < 1 {
		return errors.New("quantity is below 1")
	}
	return nil
}

func recordClick(ctx context.Context, c Click) error {
	slog.InfoContext(ctx, "recorded", "sku", c.SKU)
	return nil
}
