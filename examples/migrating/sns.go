package main

import (
	"context"
	"log/slog"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/envelope/sns"
)

// fromTopic is the consumer of what was published to a topic.
var fromTopic = sns.Unwrap(batch.JSON(shipPublished))

func shipPublished(ctx context.Context, o Order) error {
	record, _ := batch.RecordFrom(ctx) // with the publisher's message attributes
	topic, _ := sns.From(ctx)          // false for what was delivered raw
	slog.InfoContext(ctx, "shipped", "order", o.ID, "tenant", record.MessageAttributes["tenant"].StringValue, "subject", topic.Subject)
	return nil
}
