package batch

import (
	"context"
	"fmt"
	"time"
)

// deadline is that of record i, which starts now; zero if it has none. last says that
// it leaves time for those behind it, see leaving.
func (r *run) deadline(now time.Time, i int, last bool) time.Time {
	cutoff := r.times.Cutoff
	allowed := r.cfg.RecordTimeout
	if last {
		if most := r.leaving(cutoff.Sub(now), r.behind(i)); allowed == 0 || most < allowed {
			allowed = most
		}
	}
	if r.cfg.Deadline == FairShare && !cutoff.IsZero() {
		if share := fairShare(cutoff.Sub(now), r.waiting, r.cfg.Concurrency); allowed == 0 || share < allowed {
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

// sendTime is what a send to the dead-letter queue may take.
const sendTime = 250 * time.Millisecond

// leaving is how much of the remaining time a record may have at its last attempt while
// others of its FIFO group wait behind it: so much that each of those can still be
// handled when it has failed or hung, and was sent to the dead-letter queue, since they
// would be moved there unhandled. But it may have half of what remains, and twice what a
// record is expected to take, at least.
func (r *run) leaving(remaining time.Duration, behind int) time.Duration {
	each := r.pace.expected(r.cfg.MinRemaining)
	most := remaining - time.Duration(behind)*each - r.cfg.Grace - sendTime
	return min(remaining, max(most, remaining/2, 2*each))
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

// expire ends w's record at its deadline; a grace later it is abandoned. The grace
// begins when the context is ended, also where the timer is late.
func (r *run) expire(w *worker) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ctx, now := w.ctx, time.Now()
	if ctx == nil || w.abandoned != nil || w.burying != nil || w.slot == none || ctx.deadline.IsZero() {
		return
	}
	switch {
	case now.Before(ctx.deadline): // the timer had fired for the record before this one
	case ctx.expired.IsZero():
		ctx.expired = now
		ctx.end(context.DeadlineExceeded)
		w.timer.Reset(r.cfg.Grace)
	case now.Sub(ctx.expired) >= r.cfg.Grace:
		r.replace(w)
	}
}

// replace gives up on w's handler. Another worker has its place, its record, which is
// abandoned, and the rest of its chain.
func (r *run) replace(w *worker) {
	r.unpark(w)
	r.leave(w)
	if r.on != nil {
		r.on.Abandoned(w.ctx.record)
	}
	heir := &worker{run: r, parent: w.parent, ctx: w.ctx, record: w.record, next: w.next}
	heir.abandoned = errAbandoned(time.Since(r.results[w.record].Started))
	r.join(heir)
	go r.work(heir)
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
	for len(r.active) > 0 {
		w := r.active[0]
		r.leave(w)
		if w.ctx != nil { // else it is between records
			list = append(list, abandoned{w.ctx, copies(r.abandon(w))})
		}
	}
	return list
}

func (r *run) abandon(w *worker) []*Result {
	result := &r.results[w.record]
	if w.burying != nil {
		*result = *w.burying // its handler has returned, or was given up before
	} else {
		result.Outcome = Abandoned
		result.Duration = time.Since(result.Started)
		result.Err = errAbandoned(result.Duration)
		if r.on != nil && w.abandoned == nil {
			r.on.Abandoned(result.Record)
		}
	}
	unit := r.fail(w)
	if r.settling != nil {
		r.settling.Failed(unit)
	}
	return unit
}

func errAbandoned(after time.Duration) error {
	return fmt.Errorf("%w: its handler was still running after %v and ignores the end of its context", ErrAbandoned, after.Round(time.Millisecond))
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
