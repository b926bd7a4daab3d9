// Command encoded is plain with payload/encoded.
package main

import (
	"context"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/payload/encoded"
)

func main() {
	handler.Run(encoded.Unwrap(batch.HandlerFunc(func(context.Context, batch.Record) error { return nil })))
}
