// Command envelopes shows the result of moving functions that take messages out of the
// envelopes of SNS, S3 and EventBridge by hand to sqsbatch.
package main

import (
	"context"
	"log/slog"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/envelope/sns"
	"github.com/sqsbatch/sqsbatch/handler"
)

var consumer = sns.Unwrap(batch.JSON(shipOrder))

func main() { handler.Run(consumer) } // or notifications, or placed

// Order is what was published to the topic.
type Order struct {
	ID       string `json:"id"`
	SKU      string `json:"sku"`
	Quantity int    `json:"quantity"`
}

func shipOrder(ctx context.Context, o Order) error {
	record, _ := batch.RecordFrom(ctx) // with the publisher's message attributes
	topic, _ := sns.From(ctx)          // false for what was delivered raw
	slog.InfoContext(ctx, "shipped", "order", o.ID, "tenant", record.MessageAttributes["tenant"].StringValue, "subject", topic.Subject)
	return nil
}
