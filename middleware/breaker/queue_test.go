package breaker_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sony/gobreaker/v2"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/internal/testqueue"
	"github.com/sqsbatch/sqsbatch/middleware/breaker"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// carrier is a handler whose dependency is down at first.
type carrier struct {
	mu      sync.Mutex
	until   time.Time
	takes   time.Duration
	down    int // calls while it was down
	shipped []string
}

func (c *carrier) Handle(_ context.Context, r batch.Record) error {
	time.Sleep(c.takes)
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Now().Before(c.until) {
		c.down++
		return errDown
	}
	c.shipped = append(c.shipped, r.Body)
	return nil
}

// An outage of three minutes: with the breaker the records outlive it, and the
// dependency is asked a few times. In a container nothing is received while the breaker
// is open, so the outage costs an attempt a minute only of the few records that are held.
func TestAnOutage(t *testing.T) {
	for name, c := range map[string]struct {
		records, down, deliveries int // the last two at most
		takes                     time.Duration
		run                       func(*testqueue.Queue, batch.Handler)
	}{
		"on Lambda": {20, 8, 100, 0, func(q *testqueue.Queue, h batch.Handler) {
			q.Map(10*time.Minute, q.Lambda(h, handler.Config{Concurrency: 1, Backoff: partialfailure.Constant(5 * time.Second)}).Invoke)
		}},
		"in a container": {300, 15, 400, 50 * time.Millisecond, func(q *testqueue.Queue, h batch.Handler) {
			q.Poll(context.Background(), 10*time.Minute, h, handler.Config{Concurrency: 5})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q, dependency := testqueue.New(t, testqueue.Standard), &carrier{until: time.Now().Add(3 * time.Minute), takes: c.takes}
				for i := range c.records {
					q.Send(fmt.Sprint("o-", i))
				}
				c.run(q, breaker.New(gobreaker.Settings{Timeout: time.Minute})(dependency))
				left, dead := q.Left()
				if left != 0 || dead != 0 || len(dependency.shipped) != c.records || dependency.down > c.down {
					t.Errorf("%d calls while it was down, %d shipped, %d left, %d dead letters", dependency.down, len(dependency.shipped), left, dead)
				}
				if n := len(q.Events(sqs.Received)); n > c.deliveries {
					t.Errorf("%d deliveries of %d records", n, c.records)
				}
			})
		})
	}
}

// A dependency that hangs opens the breaker, whether its handler respects the end of its
// context or never returns: the other records are spared the wait.
func TestAHangOnLambda(t *testing.T) {
	for name, hang := range map[string]func(context.Context) error{
		"heeds its end":   func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
		"does not return": func(context.Context) error { time.Sleep(time.Hour); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var hung, changes atomic.Int32
				h := breaker.New(gobreaker.Settings{
					ReadyToTrip:   func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= 2 },
					OnStateChange: func(string, gobreaker.State, gobreaker.State) { changes.Add(1) },
				})(batch.HandlerFunc(func(ctx context.Context, _ batch.Record) error { hung.Add(1); return hang(ctx) }))
				q := testqueue.New(t, testqueue.Standard)
				q.Send("a", "b", "c", "d", "e")
				begin := time.Now()
				answer, err := q.Lambda(h, handler.Config{Concurrency: 1, RecordTimeout: 6 * time.Second}).Invoke(t.Context(), testqueue.Event(q.Receive(10)))
				if took := time.Since(begin); err != nil || hung.Load() != 2 || changes.Load() != 1 || took > 20*time.Second {
					t.Errorf("%s, %v: %d hung, opened %d times, took %v", answer, err, hung.Load(), changes.Load(), took)
				}
				time.Sleep(2 * time.Hour)
			})
		})
	}
}
