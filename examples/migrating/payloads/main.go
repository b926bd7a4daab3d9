// Command payloads shows the result of moving a function that decompresses bodies, and follows
// the pointers of the SQS Extended Client Library, by hand to sqsbatch.
package main

import (
	"context"
	"log/slog"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/payload/encoded"
	"github.com/sqsbatch/sqsbatch/payload/s3payload"
)

// The first one is the outermost: senders compress a body before they store it in S3.
var consumer = batch.Chain(batch.JSON(shipOrder),
	s3payload.Unwrap(s3payload.Config{Buckets: []string{"orders-payloads"}}), // a pointer to any other is a dead letter
	encoded.Unwrap)

func main() { handler.Run(consumer) }

// Order is a message, compressed or not, or an object in S3 that a message points to.
type Order struct {
	ID       string `json:"id"`
	Quantity int    `json:"quantity"`
	Note     string `json:"note"`
}

func shipOrder(ctx context.Context, o Order) error {
	slog.InfoContext(ctx, "shipped", "order", o.ID, "quantity", o.Quantity, "note", len(o.Note))
	return nil
}
