package breaker_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sony/gobreaker/v2"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/internal/testqueue"
	"github.com/sqsbatch/sqsbatch/middleware/breaker"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// An outage of three minutes: with the breaker the records outlive it and the
// dependency is asked a few times; without, the same records are dead letters.
func TestAnOutage(t *testing.T) {
	for name, c := range map[string]struct {
		settings  *gobreaker.Settings
		dead      int
		callsDown int
	}{
		"without": {nil, 20, 100}, // maxReceiveCount is 5
		"with":    {&gobreaker.Settings{Timeout: time.Minute}, 0, 8},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const outage = 3 * time.Minute
				begin, down, shipped := time.Now(), 0, 0
				var h batch.Handler = batch.HandlerFunc(func(context.Context, batch.Record) error {
					if time.Since(begin) < outage {
						down++
						return errDown
					}
					shipped++
					return nil
				})
				if c.settings != nil {
					h = breaker.New(*c.settings)(h)
				}
				q := testqueue.New(t, testqueue.Standard)
				l, err := handler.New(h, handler.Config{
					SQS: q.Client, Concurrency: 1, Backoff: partialfailure.Constant(5 * time.Second), Logger: slog.New(slog.DiscardHandler),
				})
				if err != nil {
					t.Fatal(err)
				}
				for i := range 20 {
					q.Send(fmt.Sprint("o-", i))
				}
				q.Map(10*time.Minute, l.Invoke)
				left, dead := q.Left()
				if left != 0 || dead != c.dead || shipped != 20-c.dead || down > c.callsDown {
					t.Errorf("%d calls while it was down, %d shipped, %d left, %d dead letters", down, shipped, left, dead)
				}
			})
		})
	}
}

// While the breaker is open, a FIFO group comes back as a whole, in order.
func TestOrderIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var order []string
		q := testqueue.New(t, testqueue.FIFO)
		l, err := handler.New(breaker.New(gobreaker.Settings{
			Timeout: time.Minute, ReadyToTrip: func(c gobreaker.Counts) bool { return true },
		})(batch.HandlerFunc(func(_ context.Context, r batch.Record) error {
			if time.Since(begin) < 30*time.Second {
				return errDown
			}
			order = append(order, r.Body)
			return nil
		})), handler.Config{SQS: q.Client, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		bodies := []string{"g:1", "g:2", "g:3", "g:4"}
		q.Send(bodies...)
		q.Map(3*time.Minute, l.Invoke)
		if left, dead := q.Left(); !slices.Equal(order, bodies) || left != 0 || dead != 0 {
			t.Errorf("handled %v, %d left, %d dead letters", order, left, dead)
		}
	})
}

// A dependency that hangs opens the breaker, whether its handler heeds the end
// of its context or never returns: the other records are spared the wait.
func TestAHangOnLambda(t *testing.T) {
	for name, hang := range map[string]func(context.Context) error{
		"heeds its end":   func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
		"does not return": func(context.Context) error { time.Sleep(time.Hour); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var hung, opened atomic.Int32
				q := testqueue.New(t, testqueue.Standard)
				l, err := handler.New(breaker.New(gobreaker.Settings{
					ReadyToTrip:   func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= 2 },
					OnStateChange: func(string, gobreaker.State, gobreaker.State) { opened.Add(1) },
				})(batch.HandlerFunc(func(ctx context.Context, _ batch.Record) error {
					hung.Add(1)
					return hang(ctx)
				})), handler.Config{SQS: q.Client, Concurrency: 1, RecordTimeout: 6 * time.Second, Logger: slog.New(slog.DiscardHandler)})
				if err != nil {
					t.Fatal(err)
				}
				q.Send("a", "b", "c", "d", "e")
				begin := time.Now()
				answer, err := l.Invoke(t.Context(), testqueue.Event(q.Receive(10)))
				if err != nil || hung.Load() != 2 || opened.Load() != 1 || time.Since(begin) > 20*time.Second {
					t.Errorf("%s, %v: %d hung, opened %d times, took %v", answer, err, hung.Load(), opened.Load(), time.Since(begin))
				}
				time.Sleep(2 * time.Hour)
				synctest.Wait()
			})
		})
	}
}
