package batch

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"
)

// deadline is that of a record which starts now; zero if it has none.
func (r *run) deadline(now time.Time) time.Time {
	cutoff := r.times.Cutoff
	allowed := r.cfg.RecordTimeout
	if r.cfg.Deadline != nil && !cutoff.IsZero() {
		share := r.share(Start{Remaining: cutoff.Sub(now), Waiting: r.waiting, Concurrency: r.cfg.Concurrency})
		if share > 0 && (allowed == 0 || share < allowed) {
			allowed = share
		}
	}
	if allowed == 0 {
		return cutoff
	}
	if d := now.Add(allowed); cutoff.IsZero() || d.Before(cutoff) {
		return d
	}
	return cutoff
}

// share asks the policy; one that panics counts as one that gives everything.
func (r *run) share(s Start) (d time.Duration) {
	defer func() {
		if v := recover(); v != nil {
			r.policyPanic = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return r.cfg.Deadline(s)
}

// arm sets w's timer for a record whose deadline is its own. At the cutoff
// run.wait ends all records at once, so that the usual record needs no timer.
func (r *run) arm(w *worker) {
	deadline := w.ctx.deadline
	if deadline.IsZero() || deadline.Equal(r.times.Cutoff) {
		return
	}
	if w.timer == nil {
		w.timer = time.AfterFunc(time.Until(deadline), func() { r.expire(w) })
		return
	}
	w.timer.Reset(time.Until(deadline))
}

// expire ends w's record at its deadline; a grace later it is overdue.
func (r *run) expire(w *worker) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if w.ctx == nil || w.burying != nil || w.crew != &r.active || w.ctx.deadline.IsZero() {
		return
	}
	switch late := time.Since(w.ctx.deadline); {
	case late < 0: // the timer had fired for the record before this one
	case late < r.cfg.Grace:
		w.ctx.end(context.DeadlineExceeded)
		w.timer.Reset(r.cfg.Grace - late)
	default:
		w.ctx.end(context.DeadlineExceeded)
		r.unpark(w)
		r.unawaitAnswers(w)
		w.join(&r.overdue)
		r.running--
		r.blocked += r.behind(w)
		r.grow()
		r.checkDone()
	}
}

// cutoffGrace is how long after the cutoff handlers may still return. It is
// taken from the reserve.
func (r *run) cutoffGrace() time.Duration {
	if r.times.Cutoff.IsZero() {
		return r.cfg.Grace
	}
	reserve := r.times.Deadline.Sub(r.times.Cutoff)
	return max(0, min(r.cfg.Grace, reserve/4, time.Until(r.times.SettleBy)))
}

// endAll ends the context of everything that runs; nothing further is started.
func (r *run) endAll(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stop()
	for _, w := range r.active {
		if w.ctx != nil {
			w.ctx.end(err)
		}
		if w.burying != nil {
			w.endBurial()
		}
	}
}

// abandonAll gives up on everything that still runs: the results stand,
// whatever the handlers still do.
func (r *run) abandonAll() (list []abandoned) {
	for _, c := range []*crew{&r.overdue, &r.active} {
		for len(*c) > 0 {
			w := (*c)[0]
			w.leave()
			if w.ctx != nil { // else it is between records
				list = append(list, abandoned{w.ctx, copies(r.abandon(w))})
			}
		}
	}
	return list
}

func (r *run) abandon(w *worker) []*Result {
	result := &r.results[w.record]
	if w.burying != nil {
		*result = *w.burying // its handler has returned
	} else {
		result.Outcome = Abandoned
		result.Duration = time.Since(result.Started)
		result.Err = fmt.Errorf("%w: its handler was still running after %v and ignores the end of its context",
			ErrAbandoned, result.Duration.Round(time.Millisecond))
	}
	unit := r.fail(w)
	if r.settling != nil {
		r.settling.Failed(unit)
	}
	return unit
}

// fail skips what waits for w's record, which failed.
func (r *run) fail(w *worker) []*Result {
	failed := &r.results[w.record]
	unit := []*Result{failed}
	for i := w.next; i != none; i = r.order.after(i) {
		skipped := &r.results[i]
		skipped.Record = &r.records[i]
		skipped.Outcome = Skipped
		skipped.Err = fmt.Errorf("%w: record %s of its group failed before it", ErrSkipped, failed.Record.MessageID)
		unit = append(unit, skipped)
	}
	r.forgetAnswers(w)
	w.next = none
	r.waiting -= len(unit) - 1
	return unit
}
