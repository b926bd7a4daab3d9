// Command plain is a function without an adapter, for what adapters add to it.
package main

import (
	"context"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
)

func main() {
	handler.Run(batch.HandlerFunc(func(context.Context, batch.Record) error { return nil }))
}
