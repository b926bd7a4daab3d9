package runner

import (
	"context"
	"fmt"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

// cutoff is when d's handler must be done; zero if it has no bound but its own.
func (r *Runner) cutoff(d *Delivery) time.Time {
	if !d.Cutoff.IsZero() {
		return d.Cutoff
	}
	return r.options.Times.Cutoff
}

// deadline is that of d, which starts now; zero if it has none.
func (r *Runner) deadline(d *Delivery, now time.Time) time.Time {
	cutoff := r.cutoff(d)
	allowed := r.cfg.RecordTimeout
	least := func(most time.Duration) {
		if allowed == 0 || most < allowed {
			allowed = most
		}
	}
	if d.Last && d.next != nil && !cutoff.IsZero() {
		least(r.leaving(cutoff.Sub(now), d))
	}
	if r.cfg.Deadline == batch.FairShare && !cutoff.IsZero() {
		least(fairShare(cutoff.Sub(now), r.waiting, r.cfg.Concurrency))
	}
	if allowed == 0 {
		return cutoff
	}
	if own := now.Add(allowed); cutoff.IsZero() || own.Before(cutoff) {
		return own
	}
	return cutoff
}

// leastShare is what FairShare gives at least.
const leastShare = time.Second

// fairShare is a share of the remaining time for a record that starts while so many
// wait, itself included, and so many run at a time.
func fairShare(remaining time.Duration, waiting, concurrency int) time.Duration {
	waves := (waiting + concurrency - 1) / concurrency
	return max(leastShare, remaining/time.Duration(max(waves, 1)))
}

// sendTime is what a send to the dead-letter queue may take.
const sendTime = 250 * time.Millisecond

// leaving is how much of the remaining time a record may have at its last attempt while
// others of its FIFO group wait behind it: so much that each of those can still be
// handled when it has failed or hung, and was sent to the dead-letter queue, since they
// would be moved there unhandled. But it may have half of what remains, and twice what a
// record is expected to take, at least.
func (r *Runner) leaving(remaining time.Duration, d *Delivery) time.Duration {
	behind := 0
	for next := d.next; next != nil; next = next.next {
		behind++
	}
	each := r.pace.expected(r.cfg.MinRemaining)
	most := remaining - time.Duration(behind)*each - r.cfg.Grace - sendTime
	return min(remaining, max(most, remaining/2, 2*each))
}

// askLast asks whether d is delivered for the last time, where that counts: others wait
// for it, which would come to the same end. The answer may take a moment: the lock is not
// held meanwhile, and other workers start.
func (r *Runner) askLast(d *Delivery) {
	if r.options.LastAttempt == nil || d.Last || d.answer != nil || d.next == nil || r.cutoff(d).IsZero() {
		return
	}
	r.grow()
	r.mu.Unlock()
	defer r.mu.Lock()
	d.Last = r.options.LastAttempt(d.Record)
}

// arm sets w's timer for a delivery whose deadline is its own. At the runner's cutoff
// the owner ends all at once, so that the usual record of an invocation needs none.
func (w *worker) arm(deadline time.Time) {
	if !deadline.IsZero() && !deadline.Equal(w.runner.options.Times.Cutoff) {
		w.after(time.Until(deadline))
	}
}

func (w *worker) after(d time.Duration) {
	if w.timer == nil {
		w.timer = time.AfterFunc(d, w.expire)
		return
	}
	w.timer.Reset(d)
}

// expire ends the context of w's delivery at its deadline; a grace later w is given
// up. The grace begins when the context is ended, also where the timer is late.
func (w *worker) expire() {
	r := w.runner
	r.mu.Lock()
	defer r.mu.Unlock()
	d, now := w.delivery, time.Now()
	switch {
	case d == nil || w.givenUp:
	case !d.giveUpAt.IsZero():
		if !now.Before(d.giveUpAt) {
			w.giveUp(true)
			r.grow()
			r.checkParked()
		}
	case !d.ctx.deadline.IsZero() && !now.Before(d.ctx.deadline): // else the timer had fired for the one before
		w.end(context.DeadlineExceeded)
	}
}

// end ends the context of w's delivery; w is given up a grace later, or at its own
// cutoff after a quarter of what is left of its lease.
func (w *worker) end(err error) {
	now, d, grace := time.Now(), w.delivery, w.runner.cfg.Grace
	if left := d.Lease.Sub(now) / 4; left > 0 && d.ctx.deadline.Equal(d.Cutoff) && !now.Before(d.Cutoff) {
		grace = min(grace, left)
	}
	d.giveUpAt = now.Add(grace)
	d.ctx.end(err)
	w.after(grace)
}

// cancel is end before its time.
func (w *worker) cancel() {
	if w.delivery.giveUpAt.IsZero() {
		w.end(context.Canceled)
	}
}

// giveUp finishes w's delivery as abandoned, and takes w's slot: its handler may go on
// for as long as it likes. decide says whether the owner may be asked about it.
func (w *worker) giveUp(decide bool) {
	r, d := w.runner, w.delivery
	r.unpark(d)
	r.free(w)
	w.givenUp = true
	r.running--
	r.abandoned++
	if w.opening {
		r.forget(d)
		r.notStart(d, batch.ErrStopped)
		return
	}
	now := time.Now()
	d.Result.Outcome, d.Result.Duration = batch.Abandoned, now.Sub(d.Result.Started)
	d.Result.Err = fmt.Errorf("%w: its handler was still running after %v and ignores the end of its context",
		batch.ErrAbandoned, d.Result.Duration.Round(time.Millisecond))
	if decide && r.decides(d, now) {
		r.failOrDecide(d, now)
		return
	}
	r.fail(d)
	r.notify(d)
	r.checkIdle()
}

// End holds, and ends the context of all that runs with err; what does not return is
// given up by [Runner.GiveUp].
func (r *Runner) End(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hold()
	for _, w := range r.active {
		if w.delivery != nil {
			w.delivery.ctx.end(err)
		}
	}
	r.checkIdle()
}

// GiveUp gives up on all that still runs.
func (r *Runner) GiveUp() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held, r.over = true, true
	for k := len(r.active) - 1; k >= 0; k-- {
		if w := r.active[k]; w.delivery != nil {
			w.giveUp(false)
		}
	}
	for _, d := range r.deciding {
		r.fail(d)
		r.notify(d)
	}
	r.deciding = nil
	r.checkIdle()
}
