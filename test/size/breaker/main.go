// Command breaker is plain with middleware/breaker.
package main

import (
	"context"

	"github.com/sony/gobreaker/v2"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/middleware/breaker"
)

func main() {
	handler.Run(batch.Chain(batch.HandlerFunc(func(context.Context, batch.Record) error { return nil }), breaker.New(gobreaker.Settings{})))
}
