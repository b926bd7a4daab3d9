// Package sleep has waits that end with a context, how long to wait before a call is made
// again, and how to wake another goroutine. It imports nothing but random numbers, so that
// every package may use it.
//
//	if !sleep.For(ctx, 200*time.Millisecond) {
//		return ctx.Err()
//	}
package sleep

import (
	"context"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/draw"
)

// For waits for d and returns true. It returns false as soon as ctx ends. If d is zero or
// less it does not wait, and reports whether ctx has not ended.
func For(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Until is [For] until t.
func Until(ctx context.Context, t time.Time) bool { return For(ctx, time.Until(t)) }

// Closed waits until done is closed, and returns true. It returns false if ctx ends before
// that; if both are over already, it returns true.
func Closed(ctx context.Context, done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	case <-ctx.Done():
	}
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// Wake puts a value into a channel that has room for one, unless it has one.
func Wake(waits chan<- struct{}) {
	select {
	case waits <- struct{}{}:
	default:
	}
}

// Backoff returns how long to wait before the next try after a number of failures in a row:
// first, doubled with each further failure, at most most. Up to half of it is taken off at
// random, so that processes that failed at the same time do not try at the same time.
func Backoff(failures int, first, most time.Duration) time.Duration {
	d := min(first<<min(max(failures-1, 0), 16), most)
	return d/2 + time.Duration(draw.Rand.Int64N(int64(d/2+1)))
}
