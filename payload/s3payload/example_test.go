package s3payload_test

import (
	"bufio"
	"context"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/payload/s3payload"
)

type Order struct{ SKU string }

func shipOrder(context.Context, Order) error { return nil }

// A function whose messages may be in S3.
func Example() {
	inS3 := s3payload.Unwrap(s3payload.Config{Buckets: []string{"orders-payloads"}, DeleteAfterSuccess: true})
	main := func() { handler.Run(inS3(batch.JSON(shipOrder))) }
	_ = main
}

// A function that reads line by line what would not go into its memory.
func ExampleStream() {
	importLines := func(ctx context.Context, o s3payload.Object) error {
		lines := bufio.NewScanner(o.Body)
		for lines.Scan() {
			// …
		}
		return lines.Err()
	}
	main := func() {
		handler.Run(s3payload.Stream(importLines, s3payload.Config{Buckets: []string{"imports"}}))
	}
	_ = main
}
