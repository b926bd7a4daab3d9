// Command s3payload is plain with payload/s3payload.
package main

import (
	"context"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/payload/s3payload"
)

func main() {
	inS3 := s3payload.Unwrap(s3payload.Config{Buckets: []string{"payloads"}})
	handler.Run(inS3(batch.HandlerFunc(func(context.Context, batch.Record) error { return nil })))
}
