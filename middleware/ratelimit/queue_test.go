package ratelimit_test

import (
	"context"
	"log/slog"
	"slices"
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

// mapped sends bodies to a queue, runs a limited handler on them for a time, and
// returns when each was handled, in seconds, and the attempts.
func mapped(t *testing.T, fifo bool, l *rate.Limiter, during time.Duration, bodies ...string) (q *testqueue.Queue, order []string, at, attempts []int) {
	t.Helper()
	q = testqueue.New(t, fifo)
	var mu sync.Mutex
	begin := time.Now()
	h, err := handler.New(ratelimit.New(l)(batch.HandlerFunc(func(_ context.Context, r batch.Record) error {
		mu.Lock()
		defer mu.Unlock()
		order, at, attempts = append(order, r.Body), append(at, int(time.Since(begin).Round(time.Second)/time.Second)), append(attempts, r.Attempt)
		return nil
	})), handler.Config{SQS: q.Client, Concurrency: 2, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	q.Send(bodies...)
	q.Map(during, h.Invoke)
	return q, order, at, attempts
}

// What fits into the invocation waits and is handled at its first attempt.
func TestABatchThatFitsIsEvenedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, _, at, attempts := mapped(t, false, rate.NewLimiter(rate.Every(2*time.Second), 1), time.Minute, "a", "b", "c", "d", "e")
		if !slices.Equal(at, []int{0, 2, 4, 6, 8}) || slices.Max(attempts) != 1 {
			t.Errorf("handled after %v s at attempts %v", at, attempts)
		}
		if left, dead := q.Left(); left != 0 || dead != 0 {
			t.Errorf("%d are left, %d dead letters", left, dead)
		}
	})
}

// What does not fit comes back together when the next token is there, and
// nothing is handled beyond the rate.
func TestWhatDoesNotFitComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, _, at, attempts := mapped(t, false, rate.NewLimiter(rate.Every(20*time.Second), 1), 5*time.Minute, "a", "b", "c", "d")
		if len(at) != 4 {
			t.Fatalf("handled after %v s", at)
		}
		for i := range at[1:] {
			if at[i+1]-at[i] < 20 {
				t.Errorf("handled after %v s", at)
			}
		}
		if at[3] > 80 || slices.Max(attempts) > 4 {
			t.Errorf("handled after %v s at attempts %v", at, attempts)
		}
		if left, dead := q.Left(); left != 0 || dead != 0 {
			t.Errorf("%d are left, %d dead letters", left, dead)
		}
	})
}

func TestOrderIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bodies := []string{"g:1", "g:2", "g:3", "g:4"}
		q, order, at, _ := mapped(t, true, rate.NewLimiter(rate.Every(20*time.Second), 1), 5*time.Minute, bodies...)
		if !slices.Equal(order, bodies) {
			t.Errorf("handled %v after %v s", order, at)
		}
		if left, dead := q.Left(); left != 0 || dead != 0 {
			t.Errorf("%d are left, %d dead letters", left, dead)
		}
	})
}
