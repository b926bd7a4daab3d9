// Command extended shows the result of moving a function that follows the pointers of the
// SQS Extended Client Library by hand to sqsbatch.
package main

import (
	"context"
	"log/slog"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/payload/s3payload"
)

var consumer = batch.Chain(batch.JSON(shipOrder), s3payload.Unwrap(s3payload.Config{
	Buckets: []string{"orders-payloads"}, // a pointer to any other is a dead letter
}))

func main() { handler.Run(consumer) }

// Order is a message, or an object in S3 that a message points to.
type Order struct {
	ID   string `json:"id"`
	Note string `json:"note"`
}

func shipOrder(ctx context.Context, o Order) error {
	slog.InfoContext(ctx, "shipped", "order", o.ID, "note", len(o.Note))
	return nil
}
