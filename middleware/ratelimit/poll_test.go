package ratelimit_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/internal/testqueue"
	"github.com/sqsbatch/sqsbatch/middleware/ratelimit"
	"golang.org/x/time/rate"
)

// In a container a record has 15 minutes: what waits for a token waits, and
// every record is handled at its first attempt.
func TestAContainerKeepsTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const records = 100
		var mu sync.Mutex
		var last time.Time
		begin, handled, attempts := time.Now(), 0, 0
		h := ratelimit.New(rate.NewLimiter(2, 1))(batch.HandlerFunc(func(_ context.Context, r batch.Record) error {
			mu.Lock()
			defer mu.Unlock()
			handled, attempts, last = handled+1, max(attempts, r.Attempt), time.Now()
			return nil
		}))
		q := testqueue.New(t, testqueue.Standard)
		for i := range records {
			q.Send(fmt.Sprint("o-", i))
		}
		ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
		defer stop()
		err := handler.Poll(ctx, h, handler.Config{
			SQS: q.Client, Concurrency: 5, Logger: slog.New(slog.DiscardHandler), Poll: handler.PollConfig{Queues: []string{q.URL}},
		})
		if err != nil {
			t.Error(err)
		}
		took := last.Sub(begin).Round(time.Second)
		if left, dead := q.Left(); left != 0 || dead != 0 || handled != records || attempts != 1 || took != 50*time.Second {
			t.Errorf("%d handled in %v, at up to %d attempts, %d left, %d dead letters", handled, took, attempts, left, dead)
		}
	})
}
