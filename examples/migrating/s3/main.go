// Command s3 shows the result of moving a function that reads S3's notifications by hand to
// sqsbatch.
package main

import (
	"context"
	"errors"
	"log/slog"
	"path"

	"github.com/aws/aws-lambda-go/events"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/envelope/s3event"
	"github.com/sqsbatch/sqsbatch/handler"
)

var consumer = s3event.Each(importObject)

func main() { handler.Run(consumer) }

// importObject is called for one record of a notification after another. The key
// is the object's, no longer URL-encoded.
func importObject(ctx context.Context, r events.S3EventRecord) error {
	if path.Ext(r.S3.Object.Key) != ".csv" {
		return batch.Permanent(errors.New("not a .csv file"))
	}
	slog.InfoContext(ctx, "imported", "bucket", r.S3.Bucket.Name, "key", r.S3.Object.Key)
	return nil
}
