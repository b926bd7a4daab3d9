// Command ratelimit is plain with middleware/ratelimit.
package main

import (
	"context"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/middleware/ratelimit"
	"golang.org/x/time/rate"
)

func main() {
	handler.Run(batch.Chain(batch.HandlerFunc(func(context.Context, batch.Record) error { return nil }), ratelimit.New(rate.NewLimiter(50, 10))))
}
