// Command bulk is plain with bulk.
package main

import (
	"context"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/bulk"
	"github.com/sqsbatch/sqsbatch/handler"
)

func main() {
	handler.Run(bulk.New(
		func(_ context.Context, r batch.Record) (string, error) { return r.Body, nil },
		func(context.Context, []bulk.Item[string]) error { return nil }, bulk.Config{}))
}
