package handler

import (
	"context"
	"fmt"
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
	// lastWords bounds, after a flush that was given up, what is told of that.
	lastWords = 100 * time.Millisecond
)

// warnings is the part of a hook that is told of warnings.
type warnings struct{ batch.WarningHook }

// tell has the hooks told, one after the other, how a batch went. Until the
// deadline it waits for them for half of what is left at most: a hook that blocks
// must not cost the response. It is told of the rest beside it.
func (l *LambdaHandler) tell(ctx context.Context, info batch.BatchInfo, tell func()) {
	deadline := info.Times.Deadline
	if deadline.IsZero() {
		tell()
		return
	}
	began := time.Now()
	if waitFor(time.Until(deadline)/2, tell) {
		return
	}
	w := batch.Warning{Queue: batch.QueueName(info.QueueARN), Message: fmt.Sprintf(
		"a BatchSettled or Warned hook still runs %v after the batch was settled and is not waited for: hooks must not block",
		time.Since(began).Round(time.Millisecond))}
	waitFor(min(lastWords, time.Until(deadline)/4), func() { l.own.Warn(ctx, w) })
}

// flush has the configured hooks write what they keep back, before Lambda
// freezes the process; half of what settling leaves for the response is left,
// and of that half to tell of a flush that was given up.
func (l *LambdaHandler) flush(ctx context.Context, times batch.Times) {
	if !l.own.Flushes() {
		return
	}
	limit, last := invocationFlush, lastWords
	if !times.Deadline.IsZero() {
		left := times.Deadline.Sub(times.SettleBy)
		limit = min(limit, time.Until(times.Deadline)-left/2)
		last = min(last, left/4)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	waitFor(max(0, limit)+last, func() { l.own.Flush(ctx) })
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
		waitFor(limit+lastWords, func() { hooks.Flush(ctx) })
	}
}
