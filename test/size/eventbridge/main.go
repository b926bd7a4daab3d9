// Command eventbridge is plain with envelope/eventbridge.
package main

import (
	"context"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/envelope/eventbridge"
	"github.com/sqsbatch/sqsbatch/handler"
)

func main() {
	handler.Run(eventbridge.Unwrap(batch.HandlerFunc(func(context.Context, batch.Record) error { return nil })))
}
