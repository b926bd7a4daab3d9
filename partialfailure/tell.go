package partialfailure

import (
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
)

// made notes a call for the hooks, if there are any. They are told when the
// goroutine that made it has done its work: nothing waits for a hook then.
func (st *Settlement) made(op, arn, url string, began time.Time, entries int, a answer, err error) {
	if !st.cfg.Hooks.WantsCalls() {
		return
	}
	c := batch.Call{Operation: actions[op], QueueARN: arn, URL: url, Started: began, Duration: time.Since(began), Err: err}
	if op != opAttributes {
		c.Entries, c.Failed = entries, max(0, entries-len(a.ok))
		for i := range a.failed {
			if sqserror.KindOf(aws.ToString(a.failed[i].Code)) == sqserror.Throttled {
				c.Throttled++
			}
		}
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	st.told = append(st.told, c)
}

// tellCalls tells the hooks of the calls noted so far. The caller holds the
// lock, which is not held meanwhile.
func (st *Settlement) tellCalls() {
	calls := st.told
	if len(calls) == 0 {
		return
	}
	st.told = nil
	st.telling++
	st.about = calls[0].QueueARN
	st.mu.Unlock()
	defer func() {
		st.mu.Lock()
		st.telling--
		if st.telling == 0 && st.quiet != nil {
			close(st.quiet)
			st.quiet = nil
		}
	}()
	for _, c := range calls {
		st.cfg.Hooks.Called(st.ctx, c)
	}
}

// AwaitHooks waits, after [Settlement.Finish], until the hooks have been told of
// every call (see [batch.CallHook]), for half of the time that is left until
// times.SettleBy at most, or 1 s without one.
func (st *Settlement) AwaitHooks() {
	st.mu.Lock()
	if st.telling == 0 {
		st.mu.Unlock()
		return
	}
	quiet := make(chan struct{})
	st.quiet = quiet
	about := batch.QueueName(st.about)
	st.mu.Unlock()
	left := time.Second
	if by, bounded := st.ctx.Deadline(); bounded {
		left = time.Until(by) / 2
	}
	late := time.NewTimer(left)
	defer late.Stop()
	began := time.Now()
	select {
	case <-quiet:
	case <-late.C:
		st.cfg.Hooks.Warn(st.ctx, batch.Warning{Queue: about, Message: fmt.Sprintf(
			"a Called hook still runs after %v and is not waited for: hooks must not block", time.Since(began).Round(time.Millisecond))})
	}
}
