package breaker_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sony/gobreaker/v2"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/classify/httpstatus"
	"github.com/sqsbatch/sqsbatch/middleware/breaker"
)

func ExampleNew() {
	ship := batch.Text(func(_ context.Context, id string) error {
		fmt.Println("calling the carrier for", id)
		return errors.New("connection refused")
	})
	h := batch.Chain(ship, breaker.New(gobreaker.Settings{
		Name:        "carrier",
		Timeout:     2 * time.Minute,
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= 2 },
	}))
	for _, id := range []string{"o-1", "o-2", "o-3"} {
		err := h.Handle(context.Background(), batch.Record{Body: id})
		if v := batch.VerdictOf(err); v.Aborts {
			fmt.Println(id, "comes back in", v.After.Round(time.Second), "with what was not started:", err)
		}
	}
	// Output:
	// calling the carrier for o-1
	// calling the carrier for o-2
	// o-3 comes back in 2m0s with what was not started: breaker "carrier": circuit breaker is open
}

// With a classifier, give it to both: an order that the carrier does not know is
// no failure of the carrier.
func ExampleConfig() {
	guard := breaker.New(gobreaker.Settings{
		ReadyToTrip: func(c gobreaker.Counts) bool { return true },
	}, breaker.Config{Classify: httpstatus.Classify})
	h := guard(batch.HandlerFunc(func(context.Context, batch.Record) error {
		return &httpstatus.Error{Status: 404}
	}))
	for range 3 {
		fmt.Println(h.Handle(context.Background(), batch.Record{}))
	}
	// Output:
	// status 404 Not Found
	// status 404 Not Found
	// status 404 Not Found
}
