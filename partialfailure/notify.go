package partialfailure

import (
	"fmt"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

// noteCall notes a call for the hooks, if there are any. They are told when the
// goroutine that made it has done its work: nothing waits for a hook then.
func (c *batchCall) noteCall(entries, confirmed, throttled int, err error) {
	if !c.cfg.Hooks.WantsCalls() {
		return
	}
	call := batch.Call{Operation: strings.TrimPrefix(c.op, "sqs:"), QueueARN: c.arn, URL: c.queue.url, Started: c.began, Duration: time.Since(c.began), Err: err}
	if c.op != opAttributes {
		call.Operation += "Batch"
		call.Entries, call.Failed, call.Throttled = entries, max(0, entries-confirmed), throttled
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.untold = append(c.untold, call)
}

// tellCalls tells the hooks of the calls noted so far. The caller holds the
// lock, which is not held meanwhile.
func (st *Settlement) tellCalls() {
	calls := st.untold
	if len(calls) == 0 {
		return
	}
	st.untold, st.about = nil, calls[0].QueueARN
	st.telling.add()
	st.mu.Unlock()
	defer func() {
		st.mu.Lock()
		st.telling.end()
	}()
	for _, c := range calls {
		st.cfg.Hooks.Called(st.ctx, c)
	}
}

// AwaitHooks waits, after [Settlement.Settle], until the hooks have been told of
// every call (see [batch.CallHook]), for half of the time that is left until
// times.SettleBy at most, or 1 s without one.
func (st *Settlement) AwaitHooks() {
	st.mu.Lock()
	told, tells, about := st.telling.idle, st.telling.n > 0, batch.QueueName(st.about)
	st.mu.Unlock()
	if !tells {
		return
	}
	left := time.Second
	if by, bounded := st.ctx.Deadline(); bounded {
		left = time.Until(by) / 2
	}
	began := time.Now()
	select {
	case <-told:
	case <-time.After(left):
		st.cfg.Hooks.Warn(st.ctx, batch.Warning{Queue: about, Message: fmt.Sprintf(
			"a Called hook still runs after %v and is not waited for: hooks must not block", time.Since(began).Round(time.Millisecond))})
	}
}

// warn tells the hooks of something about the queue of the results.
func (st *Settlement) warn(results []batch.Result, w batch.Warning) {
	if len(results) > 0 {
		w.Queue = batch.QueueName(results[0].Record.QueueARN)
	}
	st.cfg.Hooks.Warn(st.ctx, w)
}
