package runner

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/hooks"
)

// Run handles the records of an invocation and returns their results in the same order.
// Each result has exactly one outcome.
//
// Run returns when all records are done, or else shortly after the cutoff of o's Times or the end
// of ctx. If ctx has ended already, nothing is started. Without a cutoff, Run takes as long as
// the handlers do. Records that were not started are finished at its end.
//
// Cost: about a dozen allocations, one for each handler at work, and those that handlers
// cause by using their contexts; none for each record.
func (e *Engine) Run(ctx context.Context, records []batch.Record, o Options) []batch.Result {
	if len(records) == 0 {
		return nil
	}
	i, results := invocation{e.NewRunner(ctx, o), make([]Delivery, len(records))}, make([]batch.Result, len(records))
	i.active = make([]*worker, 0, min(len(records), e.cfg.Concurrency))
	i.mu.Lock()
	defer i.mu.Unlock()
	i.closed, i.paused = true, ctx.Err() != nil
	for k := range records {
		d := &i.list[k]
		d.Record, d.Latest, d.Result = &records[k], &records[k], &results[k]
		i.add(d)
	}
	i.addWorker()
	i.wait()
	i.end()
	i.Leave()
	return results
}

// invocation is a runner with all of its deliveries. The goroutine of Run has the lock, except
// while it waits.
type invocation struct {
	*Runner
	list []Delivery
}

// wait returns when no handler runs any more. It abandons handlers that ignore the end of
// their contexts.
func (i *invocation) wait() {
	var cutoff <-chan time.Time
	if at := i.options.Times.Cutoff; !at.IsZero() {
		cutoff = time.After(time.Until(at))
	}
	if !i.waitIdle(cutoff, i.parent.Done()) {
		i.Cancel(cmp.Or(i.parent.Err(), context.DeadlineExceeded))
		// Handlers that respect their context return now, and their results count.
		i.waitIdle(time.After(i.cutoffGrace()), nil)
		i.GiveUp()
	}
}

// waitIdle waits until nothing runs any more. It reports whether that came before late and
// ended.
func (i *invocation) waitIdle(late <-chan time.Time, ended <-chan struct{}) (idle bool) {
	for over := false; !over && !i.Idle(); {
		i.mu.Unlock()
		select {
		case <-i.options.Wake:
		case <-late:
			over = true
		case <-ended:
			over = true
		}
		i.mu.Lock()
	}
	return i.Idle()
}

// cutoffGrace is how long from now on handlers may still return.
func (i *invocation) cutoffGrace() time.Duration {
	times := i.options.Times
	if times.Cutoff.IsZero() {
		return i.cfg.Grace
	}
	return max(0, min(times.Grace(i.cfg.Grace), time.Until(times.SettleBy)))
}

// end finishes the records that were not started. It waits for hooks, but not beyond SettleBy,
// since a hook that blocks must not make the response late.
func (i *invocation) end() {
	if !i.Idle() && !i.waitIdle(i.halfOfTheRest(), nil) {
		i.warn(fmt.Sprintf("a RecordFinished hook still runs %v after the cutoff, and the response does not wait for it: hooks must not block",
			time.Since(i.options.Times.Cutoff).Round(time.Millisecond)))
	}
	notStarted := i.counts[Waiting]
	if notStarted == 0 {
		return
	}
	why, verdict := errTooLate, Verdict{}
	for k := range i.list {
		if d := &i.list[k]; d.Verdict.Aborts && (!verdict.Aborts || d.Verdict.After > verdict.After) {
			why = fmt.Errorf("%w: %w: %w", batch.ErrNotStarted, batch.ErrAborted, batch.Abort(d.Verdict.After, d.Result.Err))
			verdict.Verdict = d.Verdict.Verdict
		}
	}
	for k := range i.list {
		if d := &i.list[k]; d.Result.Outcome == batch.Pending {
			d.Result.Outcome, d.Result.Err, d.Verdict, d.next = batch.NotStarted, why, verdict, nil
			i.report(d)
		}
	}
	if notStarted == len(i.list) && i.parent.Err() == nil {
		i.warn(fmt.Sprintf(
			"no record was started, because only %v was left before the cutoff. If this happens on every invocation, lower MinRemaining (%v) or raise the function's timeout",
			time.Until(i.options.Times.Cutoff).Round(time.Millisecond), max(i.cfg.MinRemaining, minStart)))
	}
}

// warn passes a warning to the hooks, but waits for them only for a part of the time until SettleBy.
func (i *invocation) warn(message string) {
	i.mu.Unlock()
	defer i.mu.Lock()
	hooks.Within(i.halfOfTheRest(), func() {
		i.Hooks.Warn(i.parent, batch.Warning{Queue: batch.QueueName(i.list[0].Record.QueueARN), Message: message})
	})
}

// halfOfTheRest fires when half of the time until SettleBy is over; the rest is for
// settling. Without SettleBy it never fires.
func (i *invocation) halfOfTheRest() <-chan time.Time {
	by := i.options.Times.SettleBy
	if by.IsZero() {
		return nil
	}
	return time.After(time.Until(by) / 2)
}

var errTooLate = fmt.Errorf("%w: too little time left", batch.ErrNotStarted)
