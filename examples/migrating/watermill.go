package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/sony/gobreaker/v2"
	"golang.org/x/time/rate"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/middleware/breaker"
	"github.com/sqsbatch/sqsbatch/middleware/ratelimit"
)

// The function is handler.RunWith(routed, routedConfig), with SQSBATCH_QUEUE_URL. SIGTERM ends
// it, as by SignalsHandler.
var (
	routed = batch.Chain(batch.JSON(shipCorrelated), // the first middleware is the outermost, as in AddMiddleware
		ratelimit.New(rate.NewLimiter(50, 1)),                                      // NewThrottle(50, time.Second)
		breaker.New(gobreaker.Settings{Name: "carrier", Timeout: 2 * time.Minute})) // NewCircuitBreaker
	routedConfig = handler.Config{RecordTimeout: 30 * time.Second} // Timeout(30 * time.Second)
)

func shipCorrelated(ctx context.Context, o Order) error {
	if o.Quantity < 1 {
		return batch.Permanent(errors.New("nothing to ship")) // the poison queue's filter let this one through
	}
	record, _ := batch.RecordFrom(ctx) // its attributes are the metadata
	slog.InfoContext(ctx, "shipped", "order", o.ID, "correlation", record.MessageAttributes["correlation_id"].StringValue)
	return nil
}
