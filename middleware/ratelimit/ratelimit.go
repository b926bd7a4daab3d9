// Package ratelimit lets records pass at a limiter's rate: for a dependency that
// takes so many calls a second and no more.
//
//	limiter := rate.NewLimiter(50, 10) // 50 a second, 10 at once; golang.org/x/time/rate
//	handler.Run(batch.Chain(batch.JSON(shipOrder), ratelimit.New(limiter)))
//
// A record waits for its token within its deadline, less a tenth of its time (at
// most a second), which is left for the handler. When the token would come too late
// for that, the record takes none and does not wait: it and
// what was not started come back by then, or after 15 minutes (batch.Abort), which costs each of them
// an attempt. So the limiter is for evening out, not for a queue that always
// gets more than the dependency takes: there, bound what is received as well, on
// Lambda by the event source mapping's MaximumConcurrency, in a container by the
// number of tasks.
//
// A limiter counts for one process. The rate of all is that times the execution
// environments or tasks. On Lambda a record that waits is paid for, and wherever
// it waits it holds one of the places of Concurrency: with a limiter of 50 a
// second and calls of 100 ms more than 5 places do nothing but wait.
//
// With a circuit breaker, the limiter is the outer one: batch.Chain(h,
// ratelimit.New(limiter), breaker.New(settings)). A record that comes back for
// want of a token is then no failure of the dependency.
package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"golang.org/x/time/rate"
)

// Options are what [NewWith] takes. The zero value is good.
type Options struct {
	// Cost is how many tokens a record takes: 0 or less for one that is not
	// limited, and no more than the limiter's burst counts, so that such a record
	// waits for all of it. Defaults to 1 for each record.
	Cost func(batch.Record) int
}

// Bounds of the time after which a record comes back that got no token in time.
const (
	minDelay = time.Second // SQS counts in seconds, and 0 is at once
	maxDelay = 15 * time.Minute
)

// ErrNoToken is wrapped by the error of a record whose token would come too late.
var ErrNoToken = errors.New("ratelimit: no token in time")

// New returns middleware by which each record takes a token of limiter.
// Without a limiter or a handler there is no handler: what runs handlers refuses
// the nil that it returns then.
func New(limiter *rate.Limiter) func(batch.Handler) batch.Handler {
	return NewWith(limiter, Options{})
}

// NewWith is [New] with options.
func NewWith(limiter *rate.Limiter, o Options) func(batch.Handler) batch.Handler {
	around := func(h batch.Handler) batch.Handler {
		if limiter == nil {
			return nil
		}
		return batch.HandlerFunc(func(ctx context.Context, r batch.Record) error {
			n := 1
			if o.Cost != nil {
				n = o.Cost(r)
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
		return fmt.Errorf("%w: the limiter's burst is %d, so that no record may ever pass", ErrNoToken, burst)
	}
	inTime := ctx
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		inTime, cancel = context.WithDeadline(ctx, deadline.Add(-min(time.Until(deadline)/10, time.Second)))
		defer cancel()
	}
	// WaitN takes nothing when it knows that the tokens come too late, unlike a
	// reservation that is given back: others may have reserved behind it.
	err := limiter.WaitN(inTime, n)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil { // a drain, or what ends a record
		return fmt.Errorf("%w: %w", ErrNoToken, ctx.Err())
	}
	delay := delayOf(limiter, n)
	return batch.Abort(delay, fmt.Errorf("%w: the next comes in %v", ErrNoToken, delay))
}

// delayOf is how long n tokens take from now on, those that others wait for first.
func delayOf(limiter *rate.Limiter, n int) time.Duration {
	missing, perSecond := float64(n)-limiter.Tokens(), float64(limiter.Limit())
	if perSecond <= 0 || missing/perSecond >= maxDelay.Seconds() {
		return maxDelay
	}
	delay := time.Duration(missing / perSecond * float64(time.Second))
	return min(max(delay, minDelay), maxDelay)
}
