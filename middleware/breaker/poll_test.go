package breaker_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sony/gobreaker/v2"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/internal/testqueue"
	"github.com/sqsbatch/sqsbatch/middleware/breaker"
)

// In a container nothing is received while the breaker is open, so that an
// outage costs the few records that are held an attempt a minute, and the others none.
func TestAnOutageInAContainer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const outage, records = 3 * time.Minute, 300
		var mu sync.Mutex
		begin, down, shipped := time.Now(), 0, 0
		h := breaker.New(gobreaker.Settings{Timeout: time.Minute})(batch.HandlerFunc(func(context.Context, batch.Record) error {
			time.Sleep(50 * time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			if time.Since(begin) < outage {
				down++
				return errDown
			}
			shipped++
			return nil
		}))
		q := testqueue.New(t, testqueue.Standard)
		for i := range records {
			q.Send(fmt.Sprint("o-", i))
		}
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Minute)
		defer stop()
		err := handler.Poll(ctx, h, handler.Config{
			SQS: q.Client, Concurrency: 5, Logger: slog.New(slog.DiscardHandler), Poll: handler.PollConfig{Queues: []string{q.URL}},
		})
		if err != nil {
			t.Error(err)
		}
		if left, dead := q.Left(); left != 0 || dead != 0 || shipped != records || down > 15 {
			t.Errorf("%d calls while it was down, %d shipped, %d left, %d dead letters", down, shipped, left, dead)
		}
		deliveries := 0
		for range q.Events(sqs.Received) {
			deliveries++
		}
		if deliveries > records+100 {
			t.Errorf("%d deliveries of %d records", deliveries, records)
		}
	})
}
