package handler

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

const (
	// invocationFlush bounds what hooks write or send at the end of an invocation.
	invocationFlush = 2 * time.Second
	// stopFlush bounds it at the end of Poll, within what is left of the time
	// that a stop may take. Something is always left: the process itself has 1 s.
	stopFlush  = 5 * time.Second
	leastFlush = 500 * time.Millisecond
)

// flush has the configured hooks write what they keep back, before Lambda
// freezes the process; half of what settling leaves for the response is left.
func (l *LambdaHandler) flush(ctx context.Context, times batch.Times) {
	if !l.own.Flushes() {
		return
	}
	limit := invocationFlush
	if !times.Deadline.IsZero() {
		limit = min(limit, time.Until(times.Deadline)-times.Deadline.Sub(times.SettleBy)/2)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	l.own.Flush(ctx)
}

// flushAtStop returns what flushes the hooks when the pollers have stopped: for
// as long as the stop, which begins with the end of ctx, may still take.
func flushAtStop(ctx context.Context, hooks *batch.Hooks, stopTakes time.Duration) func() {
	var stopped atomic.Pointer[time.Time]
	unwatch := context.AfterFunc(ctx, func() {
		now := time.Now()
		stopped.Store(&now)
	})
	return func() {
		unwatch()
		limit := stopFlush
		if at := stopped.Load(); at != nil {
			limit = min(limit, max(leastFlush, time.Until(at.Add(stopTakes))))
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
		defer cancel()
		waitFor(limit+100*time.Millisecond, func() { hooks.Flush(ctx) })
	}
}
