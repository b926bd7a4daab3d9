// Command poll shows the result of moving a loop around ReceiveMessage to sqsbatch.
package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
)

var (
	consumer = batch.JSON(shipOrder)
	config   = handler.Config{
		Concurrency:   20,              // what bounded the goroutines
		RecordTimeout: 5 * time.Minute, // what an order may take; the queue's visibility timeout no longer matters
	}
)

// The queue is named by SQSBATCH_QUEUE_URL. Without it, and on Lambda, this is a
// function of Lambda.
func main() { handler.RunWith(consumer, config) }

// Order is a message.
type Order struct {
	ID       string `json:"id"`
	SKU      string `json:"sku"`
	Quantity int    `json:"quantity"`
}

func shipOrder(ctx context.Context, o Order) error {
	slog.InfoContext(ctx, "shipped", "order", o.ID)
	return nil
}
