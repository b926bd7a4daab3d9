package ratelimit_test

import (
	"context"
	"fmt"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/middleware/ratelimit"
	"golang.org/x/time/rate"
)

func ExampleNew() {
	ship := batch.Text(func(_ context.Context, id string) error {
		fmt.Println("shipped", id)
		return nil
	})
	limiter := rate.NewLimiter(rate.Every(time.Minute), 2) // one a minute, two at once
	h := batch.Chain(ship, ratelimit.New(limiter))

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second) // what the record has
	defer cancel()
	for _, id := range []string{"o-1", "o-2", "o-3"} {
		if err := h.Handle(ctx, batch.Record{Body: id}); err != nil {
			v := batch.VerdictOf(err)
			fmt.Println(id, "comes back in", v.After.Round(time.Second), "with what was not started:", v.Aborts)
		}
	}
	// Output:
	// shipped o-1
	// shipped o-2
	// o-3 comes back in 1m0s with what was not started: true
}

// Records that cost more take more tokens: here one for each kilobyte.
func ExampleConfig() {
	limiter := rate.NewLimiter(rate.Every(time.Hour), 10)
	limit := ratelimit.New(limiter, ratelimit.Config{Cost: func(r batch.Record) int { return len(r.Body) / 1000 }})
	h := limit(batch.HandlerFunc(func(context.Context, batch.Record) error { return nil }))
	_ = h.Handle(context.Background(), batch.Record{Body: string(make([]byte, 7000))})
	fmt.Printf("%.0f tokens are left\n", limiter.Tokens())
	// Output:
	// 3 tokens are left
}
