// Package ratelimit limits the rate of records, for a dependency with a limit of calls per
// second.
//
//	limiter := rate.NewLimiter(50, 10) // 50 a second, 10 at once; golang.org/x/time/rate
//	handler.Run(batch.Chain(batch.JSON(shipOrder), ratelimit.New(limiter)))
//
// A record waits for its token within its deadline, less a tenth of its time (at most a
// second), which is left for the handler. If the token would come later, the record takes
// none and does not wait. It aborts the batch (batch.Abort): it and the records that were
// not started come back when there are tokens, or after 15 minutes. That costs each of them
// an attempt.
//
// So use the limiter to smooth peaks, not for a queue with a higher rate than the dependency
// allows. For such a queue limit the receives as well: on Lambda with the event source mapping's
// MaximumConcurrency, in a container with the number of tasks.
//
// A limiter counts for one process. The total rate is its rate times the number of
// execution environments or tasks. On Lambda you pay for a record that waits. A waiting
// record also holds one of the slots of Concurrency: with 50 tokens a second and calls of
// 100 ms, all slots above 5 only wait.
//
// With a circuit breaker, put the limiter outside: batch.Chain(h, ratelimit.New(limiter),
// breaker.New(settings)). Then a record without a token does not count as a failure of the
// dependency.
package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/wrapped"
	"golang.org/x/time/rate"
)

// Config configures [New]. The zero value is ready to use.
type Config struct {
	// Cost returns the number of tokens for a record. A record with a cost of 0 or less is
	// not limited. A cost above the limiter's burst counts as the burst. Defaults to 1 for
	// each record.
	Cost func(batch.Record) int
}

// Limits of the delay of a record that got no token in time.
const (
	minDelay = time.Second // SQS counts in seconds, and 0 means at once
	maxDelay = 15 * time.Minute
)

// ErrNoToken is returned, wrapped, when a record's token would come too late.
var ErrNoToken = errors.New("ratelimit: no token in time")

// New returns middleware with which each record takes tokens of limiter. It takes one Config
// at most. The middleware returns nil if limiter or its handler is nil.
func New(limiter *rate.Limiter, cfg ...Config) func(batch.Handler) batch.Handler {
	c := wrapped.Last(cfg)
	around := func(h batch.Handler) batch.Handler {
		if limiter == nil {
			return nil
		}
		return batch.HandlerFunc(func(ctx context.Context, r batch.Record) error {
			n := 1
			if c.Cost != nil {
				n = c.Cost(r)
			}
			if n > 0 {
				if err := wait(ctx, limiter, n); err != nil {
					return err
				}
			}
			return h.Handle(ctx, r)
		})
	}
	return func(h batch.Handler) batch.Handler { return batch.Chain(h, around) }
}

// wait takes n tokens, or returns an error and takes none.
func wait(ctx context.Context, limiter *rate.Limiter, n int) error {
	burst := limiter.Burst()
	if burst > 0 {
		n = min(n, burst)
	}
	if limiter.AllowN(time.Now(), n) {
		return nil
	}
	if burst <= 0 {
		return fmt.Errorf("%w: the limiter's burst is %d, so no record can ever pass", ErrNoToken, burst)
	}
	inTime := ctx
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		inTime, cancel = context.WithDeadline(ctx, deadline.Add(-min(time.Until(deadline)/10, time.Second)))
		defer cancel()
	}
	// WaitN takes no tokens if they would come too late. A cancelled reservation is different:
	// others may have reserved tokens after it.
	err := limiter.WaitN(inTime, n)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil { // a drain began, or the record's time is over
		return fmt.Errorf("%w: %w", ErrNoToken, ctx.Err())
	}
	delay := delayOf(limiter, n)
	return batch.Abort(delay, fmt.Errorf("%w: the next comes in %v", ErrNoToken, delay))
}

// delayOf returns the time until n tokens are available, after the tokens that others wait for.
func delayOf(limiter *rate.Limiter, n int) time.Duration {
	missing, perSecond := float64(n)-limiter.Tokens(), float64(limiter.Limit())
	if perSecond <= 0 || missing/perSecond >= maxDelay.Seconds() {
		return maxDelay
	}
	delay := time.Duration(missing / perSecond * float64(time.Second))
	return min(max(delay, minDelay), maxDelay)
}
