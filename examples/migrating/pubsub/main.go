// Command pubsub shows the result of moving a subscription of gocloud.dev's pubsub to
// sqsbatch.
package main

import (
	"context"
	"log/slog"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/envelope/sns"
	"github.com/sqsbatch/sqsbatch/handler"
)

// With the subscription option Raw there was no envelope to open, and sns.Unwrap
// is left out.
var consumer = sns.Unwrap(batch.HandlerFunc(receive))

// The queue is named by SQSBATCH_QUEUE_URL.
func main() { handler.Run(consumer) }

func receive(ctx context.Context, r batch.Record) error {
	body, metadata, err := fromGocloud(r)
	if err != nil {
		return err
	}
	return onOrder(ctx, body, metadata) // nil is Ack, an error Nack
}

func onOrder(ctx context.Context, body []byte, metadata map[string]string) error {
	slog.InfoContext(ctx, "order", "bytes", len(body), "tenant", metadata["tenant"], "trace", metadata["trace/id"])
	return nil
}
