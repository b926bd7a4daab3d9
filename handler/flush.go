package handler

import (
	"context"
	"fmt"
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
	// timeoutNotice bounds, after a wait that timed out, the warning about that.
	timeoutNotice = 100 * time.Millisecond
)

// warningHook is the part of a hook that is notified of warnings.
type warningHook struct{ batch.WarningHook }

// notify has the hooks notified, one after the other, how a batch went. Until the
// deadline it waits for them for half of what is left at most: a hook that blocks
// must not cost the response. The hooks after it are notified later, in the background.
func (l *LambdaHandler) notify(ctx context.Context, info batch.BatchInfo, call func()) {
	deadline := info.Times.Deadline
	if deadline.IsZero() {
		call()
		return
	}
	began := time.Now()
	if waitFor(time.Until(deadline)/2, call) {
		return
	}
	w := batch.Warning{Queue: batch.QueueName(info.QueueARN), Message: fmt.Sprintf(
		"a BatchSettled or Warned hook still runs %v after the batch was settled and is not waited for: hooks must not block",
		time.Since(began).Round(time.Millisecond))}
	waitFor(min(timeoutNotice, time.Until(deadline)/4), func() { l.own.Warn(ctx, w) })
}

// flush has the configured hooks write what they keep back, before Lambda
// freezes the process; half of what settling leaves for the response is left,
// and of that half to warn of a flush that timed out.
func (l *LambdaHandler) flush(ctx context.Context, times batch.Times) {
	if !l.own.Flushes() {
		return
	}
	limit, notice := invocationFlush, timeoutNotice
	if !times.Deadline.IsZero() {
		left := times.Deadline.Sub(times.SettleBy)
		limit = max(0, min(limit, time.Until(times.Deadline)-left/2))
		notice = min(notice, left/4)
	}
	flushHooks(ctx, l.own, limit, notice)
}

// flushAtStop returns what flushes the hooks when the pollers have stopped: for
// as long as the stop, which begins with the end of ctx, may still take.
func flushAtStop(ctx context.Context, hooks *batch.Hooks, stopTakes time.Duration) func() {
	stopped := make(chan time.Time, 1)
	unwatch := context.AfterFunc(ctx, func() { stopped <- time.Now() })
	return func() {
		unwatch()
		limit := stopFlush
		select {
		case at := <-stopped:
			limit = min(limit, max(leastFlush, time.Until(at.Add(stopTakes))))
		default:
		}
		flushHooks(ctx, hooks, limit, timeoutNotice)
	}
}

// flushHooks gives the hooks limit, and notice more to warn of one that took longer.
func flushHooks(ctx context.Context, hooks *batch.Hooks, limit, notice time.Duration) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	waitFor(limit+notice, func() { hooks.Flush(ctx) })
}

// waitFor runs f, which may block, and waits for it at most for limit. It
// reports whether f has returned.
func waitFor(limit time.Duration, f func()) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
		return true
	case <-time.After(limit):
		return false
	}
}
