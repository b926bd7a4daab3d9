// Command s3sns shows the result of moving a function that reads S3's notifications out of
// SNS's envelopes by hand to sqsbatch.
package main

import (
	"context"
	"log/slog"

	"github.com/aws/aws-lambda-go/events"

	"github.com/sqsbatch/sqsbatch/envelope/s3event"
	"github.com/sqsbatch/sqsbatch/envelope/sns"
	"github.com/sqsbatch/sqsbatch/handler"
)

var consumer = sns.Unwrap(s3event.Each(importObject))

func main() { handler.Run(consumer) }

func importObject(ctx context.Context, r events.S3EventRecord) error {
	slog.InfoContext(ctx, "imported", "bucket", r.S3.Bucket.Name, "key", r.S3.Object.Key)
	return nil
}
