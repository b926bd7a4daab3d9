package sleep_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/sleep"
)

func TestFor(t *testing.T) {
	const never, before = time.Hour, -time.Second
	for _, c := range []struct {
		name       string
		d, ends    time.Duration // of the sleep; when the context ends
		want       bool
		wantPassed time.Duration
	}{
		{"to the end", time.Second, never, true, time.Second},
		{"the context ends first", time.Minute, time.Second, false, time.Second},
		{"the context has ended", time.Minute, before, false, 0},
		{"nothing to wait for", 0, never, true, 0},
		{"nothing to wait for, and ended", 0, before, false, 0},
		{"a time that is over", -time.Second, never, true, 0},
		{"a time that is over, and ended", -time.Second, before, false, 0},
	} {
		for how, f := range map[string]func(context.Context, time.Duration) bool{
			"For":   sleep.For,
			"Until": func(ctx context.Context, d time.Duration) bool { return sleep.Until(ctx, time.Now().Add(d)) },
		} {
			t.Run(how+" "+c.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithTimeout(t.Context(), c.ends)
					defer cancel()
					began := time.Now()
					if got := f(ctx, c.d); got != c.want || time.Since(began) != c.wantPassed {
						t.Errorf("got %v after %v, want %v after %v", got, time.Since(began), c.want, c.wantPassed)
					}
				})
			})
		}
	}
}

func TestClosed(t *testing.T) {
	const never, before = time.Hour, -time.Second
	for _, c := range []struct {
		name         string
		closes, ends time.Duration // when done is closed, and when the context ends
		want         bool
		wantPassed   time.Duration
	}{
		{"closed first", time.Second, time.Minute, true, time.Second},
		{"the context ends first", time.Minute, time.Second, false, time.Second},
		{"closed already", before, never, true, 0},
		{"the context has ended", never, before, false, 0},
		{"both are over", before, before, true, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				done := make(chan struct{})
				if c.closes <= 0 {
					close(done)
				} else {
					defer time.AfterFunc(c.closes, func() { close(done) }).Stop()
				}
				for range 50 { // a choice by chance would show
					ctx, cancel := context.WithTimeout(t.Context(), c.ends)
					began := time.Now()
					got := sleep.Closed(ctx, done)
					cancel()
					if got != c.want || time.Since(began) != c.wantPassed {
						t.Fatalf("got %v after %v, want %v after %v", got, time.Since(began), c.want, c.wantPassed)
					}
					if c.wantPassed > 0 {
						return
					}
				}
			})
		})
	}
}

func TestBackoff_DoublesUpToItsLimit(t *testing.T) {
	const first, most = 100 * time.Millisecond, 5 * time.Second
	for failures, want := range map[int]time.Duration{0: first, 1: first, 2: 2 * first, 6: 32 * first, 7: most, 1 << 40: most} {
		seen := map[time.Duration]bool{}
		for range 100 {
			d := sleep.Backoff(failures, first, most)
			if d < want/2 || d > want {
				t.Fatalf("after %d failures it is %v, want %v to %v", failures, d, want/2, want)
			}
			seen[d] = true
		}
		if len(seen) < 90 {
			t.Errorf("after %d failures only %d of 100 are different", failures, len(seen))
		}
	}
}

func TestWake_NeverBlocks(t *testing.T) {
	waits := make(chan struct{}, 1)
	for range 3 {
		sleep.Wake(waits)
	}
	if <-waits; len(waits) != 0 {
		t.Error("there is a second value")
	}
}
