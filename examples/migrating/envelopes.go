package main

import (
	"context"
	"errors"
	"log/slog"
	"path"

	"github.com/aws/aws-lambda-go/events"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/envelope/eventbridge"
	"github.com/sqsbatch/sqsbatch/envelope/s3event"
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

// notifications is the consumer of what a bucket sends, by way of a topic or not.
var notifications = sns.Unwrap(s3event.Each(importObject))

// importObject is called for one record of a notification after another. The key
// is the object's, no longer URL-encoded.
func importObject(ctx context.Context, r events.S3EventRecord) error {
	if path.Ext(r.S3.Object.Key) != ".csv" {
		return batch.Permanent(errors.New("not a .csv file"))
	}
	slog.InfoContext(ctx, "imported", "bucket", r.S3.Bucket.Name, "key", r.S3.Object.Key)
	return nil
}

// placed is the consumer of a rule's events.
var placed = eventbridge.JSON(onOrder)

func onOrder(ctx context.Context, e eventbridge.Event[Order]) error {
	if e.DetailType != "OrderPlaced" {
		return nil // a rule's pattern that lets only these pass would be cheaper
	}
	slog.InfoContext(ctx, "shipped", "order", e.Detail.ID, "quantity", e.Detail.Quantity, "source", e.Source)
	return nil
}
