package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/sony/gobreaker/v2"
	"golang.org/x/time/rate"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/classify/httpstatus"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/middleware/breaker"
	"github.com/sqsbatch/sqsbatch/middleware/ratelimit"
)

// The function is handler.RunWith(withCarrier, carrierConfig).
var (
	classify    = batch.FirstOf(ours, httpstatus.Classify)
	withCarrier = batch.Chain(batch.JSON(shipByCarrier),
		ratelimit.New(rate.NewLimiter(50, 10)), // the carrier takes 50 calls a second
		breaker.New(gobreaker.Settings{
			Name:        "carrier",
			ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= 3 },
			Timeout:     2 * time.Minute,
			MaxRequests: 5,
		}, breaker.Config{Classify: classify}))
	carrierConfig = handler.Config{Concurrency: 2, Classify: classify}
)

// ours is the helper: it says what our own errors mean, and leaves the others.
func ours(err error) error {
	if errors.Is(err, ErrNothingToShip) {
		return batch.Permanent(err) // to the dead-letter queue now
	}
	return err
}

// ErrNothingToShip is returned for an order of nothing.
var ErrNothingToShip = errors.New("nothing to ship")

// shipByCarrier knows nothing of queues and retries.
func shipByCarrier(ctx context.Context, o Order) error {
	if o.Quantity < 1 {
		return ErrNothingToShip
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, "https://carrier.example.com/"+o.SKU+"/"+o.ID, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if err := httpstatus.Check(response); err != nil {
		return err
	}
	slog.InfoContext(ctx, "shipped", "order", o.ID)
	return nil
}
