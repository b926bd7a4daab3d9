// Command watermill shows the result of moving a router of Watermill with a handler for a
// queue of SQS to sqsbatch.
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

var (
	consumer = batch.Chain(batch.JSON(ship), // the first middleware is the outermost, as in AddMiddleware
		ratelimit.New(rate.NewLimiter(50, 1)),                                      // NewThrottle(50, time.Second)
		breaker.New(gobreaker.Settings{Name: "carrier", Timeout: 2 * time.Minute})) // NewCircuitBreaker
	config = handler.Config{RecordTimeout: 30 * time.Second} // Timeout(30 * time.Second)
)

// The queue is named by SQSBATCH_QUEUE_URL. SIGTERM ends it, as by SignalsHandler.
func main() { handler.RunWith(consumer, config) }

// Order is the payload of a message.
type Order struct {
	ID       string `json:"id"`
	Quantity int    `json:"quantity"`
}

// ErrNothingToShip is one of the errors that the poison queue's filter let through.
var ErrNothingToShip = errors.New("nothing to ship")

func ship(ctx context.Context, o Order) error {
	if o.Quantity < 1 {
		return batch.Permanent(ErrNothingToShip)
	}
	record, _ := batch.RecordFrom(ctx) // its attributes are the metadata
	slog.InfoContext(ctx, "shipped", "order", o.ID, "correlation", record.MessageAttributes["correlation_id"].StringValue)
	return nil
}
