package runner

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/notify"
)

// Settling handles failures while their batch still runs. The goroutine that called Run
// calls its methods. Results are elements of the slice that Run will return.
type Settling interface {
	// Failed is called for each failure. The failure's [Delivery.Group] are the records of
	// its FIFO group that were skipped because of it. It must not block.
	Failed(d *Delivery)
	// DeadLetter is called for a failure while other records of its FIFO group wait behind
	// it. It or one of Events then calls done: with true if the record no longer blocks its
	// group, which goes on, and d's Result has its outcome; or with false if it has failed,
	// and the rest of the group is skipped. DeadLetter must not block. If the batch ends
	// first, the record is passed to Failed.
	DeadLetter(d *Delivery, done func(gone bool))
	// LastAttempt is called as [Options] describe, by other goroutines.
	LastAttempt(r *batch.Record) bool
	// Events has functions for the goroutine of Run to call.
	Events() <-chan func()
}

// Run handles the records of an invocation and returns their results in the same order.
// Each result has exactly one outcome.
//
// Run returns when all records are done, or else shortly after times' cutoff or the end of
// ctx. If ctx has ended already, nothing is started. Without a cutoff, Run takes as long as
// the handlers do.
//
// on may be nil. It is not called for records that were not started.
//
// Cost: about a dozen allocations, one for each handler at work, and those that handlers
// cause by using their contexts; none for each record.
func (e *Engine) Run(ctx context.Context, records []batch.Record, times Times, on Settling) []batch.Result {
	if len(records) == 0 {
		return nil
	}
	inv, o := invocation{results: make([]batch.Result, len(records)), settling: on}, Options{Times: times}
	if on != nil {
		o.AsksOwner, o.LastAttempt, inv.events = true, on.LastAttempt, on.Events()
	}
	inv.Runner = e.NewRunner(ctx, o)
	inv.active = make([]*worker, 0, min(len(records), e.cfg.Concurrency))
	deliveries, list := make([]Delivery, len(records)), make([]*Delivery, len(records))
	for i := range records {
		list[i] = &deliveries[i]
		list[i].Record, list[i].Result = &records[i], &inv.results[i]
	}
	inv.closed, inv.paused = true, ctx.Err() != nil
	inv.Add(list...)
	inv.list = list
	inv.wait()
	inv.end()
	inv.Leave()
	return inv.results
}

// invocation is the owner of a runner on Lambda: the goroutine of Run.
type invocation struct {
	*Runner
	results  []batch.Result
	settling Settling // may be nil
	events   <-chan func()
	list     []*Delivery
	aborted  *Delivery // the one that asked to wait the longest; nil for none
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

// waitIdle passes on failures until nothing runs any more. It reports whether that came
// before late and ended.
func (i *invocation) waitIdle(late <-chan time.Time, ended <-chan struct{}) bool {
	for !i.Idle() {
		select {
		case <-i.wake:
			i.passFailures()
		case f := <-i.events:
			f()
		case <-late:
			return false
		case <-ended:
			return false
		}
	}
	return true
}

// cutoffGrace is how long after the cutoff handlers may still return. It is
// taken from the reserve.
func (i *invocation) cutoffGrace() time.Duration {
	times := i.options.Times
	if times.Cutoff.IsZero() {
		return i.cfg.Grace
	}
	reserve := times.Deadline.Sub(times.Cutoff)
	return max(0, min(i.cfg.Grace, reserve/4, time.Until(times.SettleBy)))
}

// passFailures passes on the records that have failed since the last call.
func (i *invocation) passFailures() {
	i.list = i.Finished(i.list[:0])
	for _, d := range i.list {
		if d.Verdict.Aborts && (i.aborted == nil || d.Verdict.After > i.aborted.Verdict.After) {
			i.aborted = d
		}
		switch {
		case i.settling == nil || d.Result.Outcome.Done():
		case d.Deciding():
			i.settling.DeadLetter(d, func(gone bool) { i.Resolve(d, gone) })
		default:
			i.settling.Failed(d)
		}
	}
}

// end gives every record without an outcome one: it was not started. It waits for hooks,
// but not beyond SettleBy, since a hook that blocks must not make the response late.
func (i *invocation) end() {
	i.passFailures()
	if !i.Idle() && !i.waitIdle(i.halfOfTheRest(), nil) {
		i.warn(fmt.Sprintf("a RecordFinished hook still runs %v after the cutoff, and the response does not wait for it: hooks must not block",
			time.Since(i.options.Times.Cutoff).Round(time.Millisecond)))
	}
	why := errTooLate
	if i.aborted != nil {
		why = fmt.Errorf("%w: %w: %w", batch.ErrNotStarted, batch.ErrAborted, batch.Abort(i.aborted.Verdict.After, i.aborted.Result.Err))
	}
	notStarted := 0
	for k := range i.results {
		if r := &i.results[k]; r.Outcome == batch.Pending {
			r.Outcome, r.Err = batch.NotStarted, why
			notStarted++
		}
	}
	if notStarted == len(i.results) && i.parent.Err() == nil {
		i.warn(fmt.Sprintf(
			"no record was started, because only %v was left before the cutoff. If this happens on every invocation, lower MinRemaining (%v) or raise the function's timeout",
			time.Until(i.options.Times.Cutoff).Round(time.Millisecond), max(i.cfg.MinRemaining, minStart)))
	}
}

// warn passes a warning to the hooks, but waits for them only for a part of the time until SettleBy.
func (i *invocation) warn(message string) {
	notify.Within(i.halfOfTheRest(), func() {
		i.Hooks.Warn(i.parent, batch.Warning{Queue: batch.QueueName(i.results[0].Record.QueueARN), Message: message})
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
