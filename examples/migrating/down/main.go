// Command down shows the result of moving a function that waits and tries again by itself
// while what it needs is down to sqsbatch.
package main

import (
	"context"
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

var (
	consumer = batch.Chain(batch.JSON(shipOrder),
		ratelimit.New(rate.NewLimiter(50, 10)), // the carrier takes 50 calls a second
		breaker.New(gobreaker.Settings{
			Name:        "carrier",
			ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= 3 },
			Timeout:     3 * time.Second, // so that the example ends soon; rather a minute or two
			MaxRequests: 5,
		}, breaker.Config{Classify: httpstatus.Classify}))
	config = handler.Config{Concurrency: 2, Classify: httpstatus.Classify}
)

func main() { handler.RunWith(consumer, config) }

// Order is a message.
type Order struct {
	ID string `json:"id"`
}

func shipOrder(ctx context.Context, o Order) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, "https://carrier.example.com/"+o.ID, nil)
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
