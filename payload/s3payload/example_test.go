package s3payload_test

import (
	"bufio"
	"context"

	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/payload/s3payload"
)

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
