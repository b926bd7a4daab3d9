package s3event_test

import (
	"context"
	"fmt"

	"github.com/aws/aws-lambda-go/events"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/envelope/s3event"
)

func ExampleEach() {
	h := s3event.Each(func(_ context.Context, r events.S3EventRecord) error {
		fmt.Printf("%s %s/%s\n", r.EventName, r.S3.Bucket.Name, r.S3.Object.Key)
		return nil
	})
	// This is what main gives to handler.Run, and SQS to the function.
	body := `{"Records":[{"eventSource":"aws:s3","eventTime":"2026-11-21T10:00:00.123Z","eventName":"ObjectCreated:Put",
		"s3":{"bucket":{"name":"photos"},"object":{"key":"Happy+Face.jpg","size":1024}}}]}`
	fmt.Println(h.Handle(context.Background(), batch.Record{Body: body}))
	fmt.Println(h.Handle(context.Background(), batch.Record{Body: `{"orderId":"o-1"}`}))
	// Output:
	// ObjectCreated:Put photos/Happy Face.jpg
	// <nil>
	// malformed body: it has no Records: it is not a notification of S3
}
