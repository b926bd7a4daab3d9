package handler

import (
	"context"
	"fmt"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/hooks"
	"github.com/sqsbatch/sqsbatch/internal/runner"
)

const (
	// invocationFlush is the limit of Flush at the end of an invocation.
	invocationFlush = 2 * time.Second
	// stopFlush is the limit of Flush at the end of Poll, within the rest of the stop's time,
	// but at least leastFlush.
	stopFlush  = 5 * time.Second
	leastFlush = 500 * time.Millisecond
	// timeoutNotice is the time for the warning of a wait that timed out.
	timeoutNotice = 100 * time.Millisecond
)

// notify calls call, which calls the hooks at the end of a batch one after the other. It waits
// for at most half of the time to the deadline, since a hook that blocks must not make the
// response late. The other hooks then run later, in the background.
func (q *queueHandler) notify(ctx context.Context, info batch.BatchInfo, call func()) {
	began := time.Now()
	var late <-chan time.Time
	if !info.Deadline.IsZero() {
		late = time.After(time.Until(info.Deadline) / 2)
	}
	if hooks.Within(late, call) { // on a goroutine that a hook may end
		return
	}
	w := batch.Warning{Queue: batch.QueueName(info.QueueARN), Message: fmt.Sprintf(
		"a BatchSettled, Called or Warned hook still runs %v after the batch was settled, and the response does not wait for it: hooks must not block",
		time.Since(began).Round(time.Millisecond))}
	hooks.Within(time.After(min(timeoutNotice, time.Until(info.Deadline)/4)), func() { q.engine.Hooks.Warn(ctx, w) })
}

// flush calls the Flush hooks before Lambda freezes the process. Half of the time after
// SettleBy remains for the response. Half of that is for the warning about a flush that timed
// out.
func (q *queueHandler) flush(ctx context.Context, times runner.Times) {
	limit, notice := invocationFlush, timeoutNotice
	if !times.Deadline.IsZero() {
		left := times.Deadline.Sub(times.SettleBy)
		limit = max(0, min(limit, time.Until(times.Deadline)-left/2))
		notice = min(notice, left/4)
	}
	flushHooks(ctx, q.engine.Hooks, limit, notice)
}

// flushHooks calls the Flush hooks with the timeout limit, and waits for notice longer, for the
// warning about a hook that took longer.
func flushHooks(ctx context.Context, set *hooks.Set, limit, notice time.Duration) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	hooks.Within(time.After(limit+notice), func() { set.Flush(ctx) })
}
