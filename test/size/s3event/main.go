// Command s3event is plain with envelope/s3event.
package main

import (
	"context"

	"github.com/aws/aws-lambda-go/events"
	"github.com/sqsbatch/sqsbatch/envelope/s3event"
	"github.com/sqsbatch/sqsbatch/handler"
)

func main() {
	handler.Run(s3event.Each(func(context.Context, events.S3EventRecord) error { return nil }))
}
