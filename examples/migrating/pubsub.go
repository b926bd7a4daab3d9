package main

import (
	"context"
	"log/slog"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/envelope/sns"
)

// subscription is the function: handler.Run(subscription), with SQSBATCH_QUEUE_URL. With the
// subscription option Raw there was no envelope to open, and sns.Unwrap is left out.
var subscription = sns.Unwrap(batch.HandlerFunc(receive))

func receive(ctx context.Context, r batch.Record) error {
	body, metadata, err := fromGocloud(r)
	if err != nil {
		return err
	}
	return onMessage(ctx, body, metadata) // nil is Ack, an error Nack
}

func onMessage(ctx context.Context, body []byte, metadata map[string]string) error {
	slog.InfoContext(ctx, "order", "bytes", len(body), "tenant", metadata["tenant"], "trace", metadata["trace/id"])
	return nil
}
