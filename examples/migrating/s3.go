package main

import (
	"context"
	"errors"
	"log/slog"
	"path"

	"github.com/aws/aws-lambda-go/events"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/envelope/s3event"
	"github.com/sqsbatch/sqsbatch/envelope/sns"
)

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
