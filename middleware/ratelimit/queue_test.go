package ratelimit_test

import (
	"context"
	"fmt"
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

// handled notes what a handler was given, when (in seconds), and at which attempt.
type handled struct {
	mu           sync.Mutex
	begin        time.Time
	order        []string
	at, attempts []int
}

func (h *handled) Handle(_ context.Context, r batch.Record) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.order, h.attempts = append(h.order, r.Body), append(h.attempts, r.Attempt)
	h.at = append(h.at, int(time.Since(h.begin).Round(time.Second)/time.Second))
	return nil
}

// throughAQueue handles messages of a queue, in a bubble, with a token each so many seconds.
func throughAQueue(t *testing.T, fifo, container bool, every time.Duration, bodies ...string) *handled {
	h := &handled{}
	synctest.Test(t, func(t *testing.T) {
		q := testqueue.New(t, fifo)
		h.begin = time.Now()
		q.Send(bodies...)
		limited := ratelimit.New(rate.NewLimiter(rate.Every(every), 1))(h)
		if container {
			q.Poll(t.Context(), 5*time.Minute, limited, handler.Config{Concurrency: 5})
		} else {
			q.Map(5*time.Minute, q.Lambda(limited, handler.Config{Concurrency: 2}).Invoke)
		}
		if left, dead := q.Left(); left != 0 || dead != 0 || len(h.order) != len(bodies) {
			t.Errorf("%d were handled after %v s, %d are left, %d dead letters", len(h.order), h.at, left, dead)
		}
	})
	return h
}

// What does not fit comes back together when the next token is there, a FIFO group in
// its order, and nothing is handled beyond the rate.
func TestWhatDoesNotFitComesBack(t *testing.T) {
	for _, fifo := range []bool{false, true} {
		bodies := []string{"g:1", "g:2", "g:3", "g:4"}
		h := throughAQueue(t, fifo, false, 20*time.Second, bodies...)
		for i := range h.at[1:] {
			if h.at[i+1]-h.at[i] < 20 {
				t.Errorf("FIFO %v: handled after %v s", fifo, h.at)
			}
		}
		if fifo && !slices.Equal(h.order, bodies) || !fifo && (h.at[3] > 80 || slices.Max(h.attempts) > 4) {
			t.Errorf("FIFO %v: handled %v after %v s at attempts %v", fifo, h.order, h.at, h.attempts)
		}
	}
}

// In a container what waits for a token has 15 minutes, and needs one attempt.
func TestAContainerKeepsTheRate(t *testing.T) {
	var bodies []string
	for i := range 100 {
		bodies = append(bodies, fmt.Sprint("o-", i))
	}
	h := throughAQueue(t, false, true, time.Second/2, bodies...)
	if slices.Max(h.attempts) != 1 || slices.Max(h.at) != 50 {
		t.Errorf("the last was handled after %d s, at up to %d attempts", slices.Max(h.at), slices.Max(h.attempts))
	}
}
