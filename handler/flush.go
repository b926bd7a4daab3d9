package handler

import (
	"context"
	"fmt"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/hooks"
	"github.com/sqsbatch/sqsbatch/internal/notify"
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

// notify has the hooks notified, one after the other, how a batch went. Until the
// deadline it waits for them for half of what is left at most: a hook that blocks
// must not cost the response. The hooks after it are notified later, in the background.
func (q *queueHandler) notify(ctx context.Context, info batch.BatchInfo, call func()) {
	deadline := info.Times.Deadline
	if deadline.IsZero() {
		call()
		return
	}
	began := time.Now()
	if notify.Within(time.After(time.Until(deadline)/2), call) {
		return
	}
	w := batch.Warning{Queue: batch.QueueName(info.QueueARN), Message: fmt.Sprintf(
		"a BatchSettled or Warned hook still runs %v after the batch was settled and is not waited for: hooks must not block",
		time.Since(began).Round(time.Millisecond))}
	notify.Within(time.After(min(timeoutNotice, time.Until(deadline)/4)), func() { q.engine.Hooks.Warn(ctx, w) })
}

// flush has the hooks write what they keep back, before Lambda
// freezes the process; half of what settling leaves for the response is left,
// and of that half to warn of a flush that timed out.
func (q *queueHandler) flush(ctx context.Context, times batch.Times) {
	limit, notice := invocationFlush, timeoutNotice
	if !times.Deadline.IsZero() {
		left := times.Deadline.Sub(times.SettleBy)
		limit = max(0, min(limit, time.Until(times.Deadline)-left/2))
		notice = min(notice, left/4)
	}
	flushHooks(ctx, q.engine.Hooks, limit, notice)
}

// flushHooks gives the hooks limit, and notice more to warn of one that took longer.
func flushHooks(ctx context.Context, set *hooks.Set, limit, notice time.Duration) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	notify.Within(time.After(limit+notice), func() { set.Flush(ctx) })
}
