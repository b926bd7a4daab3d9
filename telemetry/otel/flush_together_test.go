package otel_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	otelapi "go.opentelemetry.io/otel"

	"github.com/sqsbatch/sqsbatch/telemetry/otel"
)

// Of invocations that end at once none waits for more than two calls: the one
// that runs, and the one that they share.
func TestFlushesOfInvocationsThatEndAtOnce(t *testing.T) {
	const call = 50 * time.Millisecond
	for _, c := range []struct {
		invocations, calls int
		most               time.Duration
	}{{1, 1, call}, {2, 2, 2 * call}, {10, 2, 2 * call}, {50, 2, 2 * call}} {
		synctest.Test(t, func(t *testing.T) {
			calls := 0
			hook := otel.New(otel.Options{Flush: func(context.Context) error {
				time.Sleep(call)
				calls++
				return nil
			}})
			began := time.Now()
			var wg sync.WaitGroup
			for range c.invocations {
				wg.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
					defer cancel()
					hook.Flush(ctx)
				})
			}
			wg.Wait()
			if took := time.Since(began); took != c.most || calls != c.calls {
				t.Errorf("%d invocations: the last one took %v, %d calls; want %v, %d", c.invocations, took, calls, c.most, c.calls)
			}
		})
	}
}

// What an invocation made is in a call that began after its end, never only in
// the one that ran already, and never in two at a time.
func TestAFlushHasWhatWasMadeBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var kept []int
		sent, calls, under := map[int]bool{}, 0, 0
		hook := otel.New(otel.Options{Flush: func(context.Context) error {
			mu.Lock()
			some := kept
			kept = nil
			calls++
			if under++; under > 1 {
				t.Error("two calls at a time")
			}
			mu.Unlock()
			time.Sleep(rand.N(20 * time.Millisecond))
			mu.Lock()
			defer mu.Unlock()
			under--
			for _, span := range some {
				sent[span] = true
			}
			return nil
		}})
		var wg sync.WaitGroup
		const environments, invocations = 20, 100
		for e := range environments {
			wg.Go(func() {
				for i := range invocations {
					time.Sleep(rand.N(30 * time.Millisecond))
					span := e*invocations + i
					mu.Lock()
					kept = append(kept, span)
					mu.Unlock()
					began := time.Now()
					ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
					hook.Flush(ctx)
					cancel()
					mu.Lock()
					if !sent[span] || time.Since(began) > 40*time.Millisecond {
						t.Errorf("after %v: sent is %v", time.Since(began), sent[span])
					}
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		if calls > environments*invocations/2 {
			t.Errorf("%d calls for %d invocations", calls, environments*invocations)
		}
	})
}

// A shared call lasts as long as the last one waits for it; each waits for as
// long as it may itself. A call that nobody waits for is not begun.
func TestTheTimeOfASharedFlush(t *testing.T) {
	var told errorLog
	otelapi.SetErrorHandler(&told)
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		at := func() time.Duration { return time.Since(began) }
		var ends []time.Duration
		hook := otel.New(otel.Options{Flush: func(ctx context.Context) error {
			<-ctx.Done()
			ends = append(ends, at())
			return nil
		}})
		var wg sync.WaitGroup
		flush := func(limit time.Duration) {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				from := at()
				hook.Flush(ctx)
				if d := at() - from; d > limit {
					t.Errorf("with %v it took %v", limit, d)
				}
			})
			synctest.Wait()
		}
		flush(time.Second)     // the first call
		flush(3 * time.Second) // the second
		flush(5 * time.Second)
		flush(2 * time.Second)
		flush(100 * time.Millisecond) // has left when that begins
		wg.Wait()
		synctest.Wait()
		flush(time.Second) // the third
		for range 3 {      // would be the fourth
			flush(time.Second / 2)
		}
		wg.Wait()
		synctest.Wait()
		if want := []time.Duration{time.Second, 5 * time.Second, 6 * time.Second}; !slices.Equal(ends, want) {
			t.Errorf("calls ended at %v, want %v", ends, want)
		}
		if got := told.take(); len(got) != 1 || !strings.Contains(got[0], "is not called") {
			t.Errorf("told %q", got)
		}

		// Canceled before their time.
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		go hook.Flush(ctx)
		synctest.Wait()
		time.Sleep(time.Second)
		cancel()
		synctest.Wait()
		if len(ends) != 4 || ends[3] != 7*time.Second {
			t.Errorf("calls ended at %v", ends)
		}
	})
}

func TestAFlushThatEndsItsGoroutine(t *testing.T) {
	var told errorLog
	otelapi.SetErrorHandler(&told)
	synctest.Test(t, func(t *testing.T) {
		hook := otel.New(otel.Options{Flush: func(context.Context) error { runtime.Goexit(); return nil }})
		for range 2 {
			hook.Flush(t.Context())
			if got := told.take(); len(got) != 1 || !strings.Contains(got[0], "Goexit") {
				t.Errorf("told %q", got)
			}
		}
	})
}
