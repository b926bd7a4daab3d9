package main

import (
	"context"
	"log/slog"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/payload/encoded"
	"github.com/sqsbatch/sqsbatch/payload/s3payload"
)

// unpacked is the function: handler.Run(unpacked). The first middleware is the outermost:
// senders compress a body before they store it in S3.
var unpacked = batch.Chain(batch.JSON(shipNoted),
	s3payload.Unwrap(s3payload.Config{Buckets: []string{"orders-payloads"}}), // a pointer to any other is a dead letter
	encoded.Unwrap)

// Noted is a message, compressed or not, or an object in S3 that a message points to.
type Noted struct {
	ID       string `json:"id"`
	Quantity int    `json:"quantity"`
	Note     string `json:"note"`
}

func shipNoted(ctx context.Context, o Noted) error {
	slog.InfoContext(ctx, "shipped", "order", o.ID, "quantity", o.Quantity, "note", len(o.Note))
	return nil
}
