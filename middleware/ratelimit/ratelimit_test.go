package ratelimit_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/time/rate"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/middleware/ratelimit"
	"github.com/sqsbatch/sqsbatch/test/testqueue"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// limited runs f in a bubble with a handler that counts its calls.
func limited(t *testing.T, l *rate.Limiter, o ratelimit.Config, f func(t *testing.T, h batch.Handler, calls *int)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		calls := 0
		h := ratelimit.New(l, o)(batch.HandlerFunc(func(context.Context, batch.Record) error {
			mu.Lock()
			defer mu.Unlock()
			calls++
			return nil
		}))
		f(t, h, &calls)
	})
}

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// aborted checks that err sends the record back after d.
func aborted(t *testing.T, err error, d time.Duration) {
	t.Helper()
	v := batch.VerdictOf(err)
	if !errors.Is(err, ratelimit.ErrNoToken) || !v.Aborts || (v.After-d).Abs() > time.Millisecond {
		t.Errorf("%v: %+v, want Abort after %v", err, v, d)
	}
}

func TestWithoutADeadlineItWaits(t *testing.T) {
	limited(t, rate.NewLimiter(rate.Every(time.Hour), 1), ratelimit.Config{}, func(t *testing.T, h batch.Handler, calls *int) {
		begin := time.Now()
		for range 3 {
			if err := h.Handle(t.Context(), batch.Record{}); err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(begin); *calls != 3 || took != 2*time.Hour {
			t.Errorf("%d passed in %v", *calls, took)
		}
	})
}

// Records whose token comes too late take none, whatever others do meanwhile.
func TestWhatComesTooLateTakesNoToken(t *testing.T) {
	l := rate.NewLimiter(rate.Every(10*time.Second), 1)
	limited(t, l, ratelimit.Config{}, func(t *testing.T, h batch.Handler, calls *int) {
		if err := h.Handle(within(t, 5*time.Second), batch.Record{}); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		var wg sync.WaitGroup
		for i := range 100 {
			wg.Go(func() {
				if i == 50 { // this one has time
					if err := h.Handle(within(t, time.Minute), batch.Record{}); err != nil {
						t.Error(err)
					}
					return
				}
				err := h.Handle(within(t, 5*time.Second), batch.Record{})
				if v := batch.VerdictOf(err); !v.Aborts || v.After < 9*time.Second || v.After > 21*time.Second || time.Since(begin) != 0 {
					t.Errorf("%v after %v: %+v", err, time.Since(begin), v)
				}
			})
		}
		wg.Wait()
		if took := time.Since(begin); *calls != 2 || took != 10*time.Second || math.Abs(l.Tokens()) > 1e-6 {
			t.Errorf("%d passed in %v, %f tokens are left", *calls, took, l.Tokens())
		}
		aborted(t, h.Handle(within(t, 5*time.Second), batch.Record{}), 10*time.Second)
	})
}

func TestTimeMustBeLeftForTheHandler(t *testing.T) {
	for name, c := range map[string]struct {
		has    time.Duration
		passes bool
	}{
		"a second is enough":    {11050 * time.Millisecond, true},
		"less than a tenth":     {10900 * time.Millisecond, false},
		"not even for the wait": {9 * time.Second, false},
	} {
		l := rate.NewLimiter(rate.Every(10*time.Second), 1)
		limited(t, l, ratelimit.Config{}, func(t *testing.T, h batch.Handler, calls *int) {
			l.Allow()
			err := h.Handle(within(t, c.has), batch.Record{})
			if c.passes != (err == nil) || c.passes != (*calls == 1) {
				t.Errorf("%s: %v, %d calls", name, err, *calls)
			}
			if err != nil {
				aborted(t, err, 10*time.Second)
			}
		})
	}
}

func TestCost(t *testing.T) {
	l := rate.NewLimiter(1, 5)
	cost := func(r batch.Record) int { return len(r.Body) - 1 }
	limited(t, l, ratelimit.Config{Cost: cost}, func(t *testing.T, h batch.Handler, calls *int) {
		begin := time.Now()
		for _, step := range []struct {
			body string
			at   time.Duration
		}{
			{"1234", 0},
			{"", 0}, {"-", 0}, // free
			{"123", 0},                               // the bucket is empty
			{"1234", 3 * time.Second},                // 3 tokens
			{"-", 3 * time.Second},                   // free, whatever there is
			{"more than the burst", 8 * time.Second}, // 5 tokens
		} {
			if err := h.Handle(within(t, time.Minute), batch.Record{Body: step.body}); err != nil || time.Since(begin) != step.at {
				t.Errorf("%q passed after %v (%v), want %v", step.body, time.Since(begin), err, step.at)
			}
		}
		aborted(t, h.Handle(within(t, 2*time.Second), batch.Record{Body: "1234"}), 3*time.Second)
	})
}

func TestDelaysAreBounded(t *testing.T) {
	const never, hardlyEver = time.Duration(0), time.Duration(1)
	for every, want := range map[time.Duration]time.Duration{
		never: 15 * time.Minute, hardlyEver: 15 * time.Minute, 24 * time.Hour: 15 * time.Minute,
		10 * time.Minute: 10 * time.Minute, 300 * time.Millisecond: time.Second,
	} {
		l := rate.NewLimiter(rate.Every(every), 1)
		switch every {
		case never:
			l.SetLimit(0)
		case hardlyEver:
			l.SetLimit(1e-300)
		}
		limited(t, l, ratelimit.Config{}, func(t *testing.T, h batch.Handler, _ *int) {
			l.Allow()
			aborted(t, h.Handle(within(t, 100*time.Millisecond), batch.Record{}), want)
		})
	}
}

// A limiter that lets nothing pass is a mistake: no delay, and no record lost.
func TestABurstOfNothing(t *testing.T) {
	limited(t, rate.NewLimiter(5, 0), ratelimit.Config{}, func(t *testing.T, h batch.Handler, calls *int) {
		err := h.Handle(within(t, time.Minute), batch.Record{})
		if !errors.Is(err, ratelimit.ErrNoToken) || batch.VerdictOf(err) != (batch.Verdict{}) || !strings.Contains(err.Error(), "burst is 0") || *calls != 0 {
			t.Errorf("%v", err)
		}
	})
	limited(t, rate.NewLimiter(rate.Inf, 0), ratelimit.Config{}, func(t *testing.T, h batch.Handler, calls *int) {
		if err := h.Handle(t.Context(), batch.Record{}); err != nil || *calls != 1 {
			t.Errorf("%v with no limit", err)
		}
	})
}

func TestTheEndOfTheContextEndsTheWait(t *testing.T) {
	l := rate.NewLimiter(rate.Every(time.Minute), 1)
	limited(t, l, ratelimit.Config{}, func(t *testing.T, h batch.Handler, calls *int) {
		l.Allow()
		ctx, cancel := context.WithCancel(within(t, time.Hour))
		time.AfterFunc(6*time.Second, cancel)
		begin := time.Now()
		err := h.Handle(ctx, batch.Record{})
		if took := time.Since(begin); !errors.Is(err, context.Canceled) || batch.VerdictOf(err).Verb || took != 6*time.Second || *calls != 0 {
			t.Errorf("%v after %v", err, took)
		}
		if got := l.Tokens(); math.Abs(got-0.1) > 1e-6 { // of which 6 s are a tenth
			t.Errorf("%f tokens are left, want 0.1", got)
		}
	})
}

func TestErrorsOfTheHandlerPass(t *testing.T) {
	own := errors.New("no stock")
	h := ratelimit.New(rate.NewLimiter(1, 1))(batch.HandlerFunc(func(context.Context, batch.Record) error { return own }))
	if err := h.Handle(t.Context(), batch.Record{}); err != own {
		t.Errorf("%v", err)
	}
}

func TestNothingIsNoHandler(t *testing.T) {
	f := batch.HandlerFunc(func(context.Context, batch.Record) error { return nil })
	var none batch.HandlerFunc
	for name, h := range map[string]batch.Handler{
		"no limiter": ratelimit.New(nil)(f), "no handler": ratelimit.New(rate.NewLimiter(1, 1))(nil), "a nil function": ratelimit.New(rate.NewLimiter(1, 1))(none),
	} {
		if h != nil {
			t.Errorf("%s: %v", name, h)
		}
		if _, err := handler.New(h, handler.Config{}); err == nil {
			t.Errorf("%s: the engine takes it", name)
		}
	}
}

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
