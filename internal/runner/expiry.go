package runner

import (
	"context"
	"fmt"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

// cutoff returns when d's handler must be done; zero if only its own timeout limits it.
func (r *Runner) cutoff(d *Delivery) time.Time {
	if d.Within > 0 {
		return d.Record.ReceivedAt.Add(d.Within)
	}
	return r.options.Times.Cutoff
}

// enoughTime reports whether enough time is left to start d.
func (r *Runner) enoughTime(d *Delivery, now time.Time) bool {
	cutoff := r.cutoff(d)
	return cutoff.IsZero() || r.pace.enough(cutoff.Sub(now), r.cfg.MinRemaining)
}

// deadlineOf is the deadline of d, which starts now; zero if it has none.
func (r *Runner) deadlineOf(d *Delivery, now time.Time) time.Time {
	cutoff := r.cutoff(d)
	allowed := r.cfg.RecordTimeout
	switch {
	case cutoff.IsZero() && allowed == 0:
		return time.Time{}
	case cutoff.IsZero():
		return now.Add(allowed)
	}
	remaining := cutoff.Sub(now)
	if allowed == 0 {
		allowed = remaining
	}
	if d.Last && d.next != nil {
		allowed = min(allowed, r.leaving(remaining, d))
	}
	if allowed < remaining {
		return now.Add(allowed)
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
func (r *Runner) leaving(remaining time.Duration, d *Delivery) time.Duration {
	behind := 0
	for next := d.next; next != nil; next = next.next {
		behind++
	}
	each := r.pace.expected(r.cfg.MinRemaining)
	most := remaining - time.Duration(behind)*each - r.cfg.Grace - sendTime
	return min(remaining, max(most, remaining/2, 2*each))
}

// askLast finds out whether d is delivered for the last time, if it does not know, and
// reports whether it had to ask. It asks only if other records wait for d, since SQS would
// give up on those as well. The answer may take a moment: the lock is not held meanwhile,
// and other workers start.
func (r *Runner) askLast(d *Delivery) (asked bool) {
	if r.options.LastAttempt == nil || d.Last || d.next == nil || r.cutoff(d).IsZero() {
		return false
	}
	r.grow()
	r.mu.Unlock()
	last := r.options.LastAttempt(d.Record)
	r.mu.Lock()
	d.Last = last
	return true
}

// setDue has w looked at when t has come. There is one timer for all workers: it is set
// to the earliest of these times, or to that of a delivery that has finished since.
func (w *worker) setDue(t time.Time) {
	r := w.runner
	w.due = t
	switch {
	case !r.due.IsZero() && !t.Before(r.due):
		return
	case r.timer == nil:
		r.timer = time.AfterFunc(time.Until(t), r.expire)
	default:
		r.timer.Reset(time.Until(t))
	}
	r.due = t
}

// expire ends the contexts of deliveries at their deadlines, and abandons their workers a
// grace later. The grace begins when the context was ended, even if the timer was late. It
// looks at each worker.
func (r *Runner) expire() {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	r.due = time.Time{}
	for k := len(r.active) - 1; k >= 0; k-- { // backwards: giveUp puts the last one in the place of w
		switch w := r.active[k]; {
		case w.delivery == nil || w.due.IsZero():
		case now.Before(w.due):
			w.setDue(w.due)
		case w.ended:
			w.giveUp()
		default:
			w.end(context.DeadlineExceeded)
		}
	}
	r.grow()
	r.checkJoining()
}

// end ends the context of w's delivery, unless it has ended. w is given up a grace later.
func (w *worker) end(err error) {
	if w.ended {
		return
	}
	w.ended = true
	(*recordContext)(w.delivery).end(err)
	w.setDue(time.Now().Add(w.runner.cfg.Grace))
}

// giveUp finishes w's delivery as abandoned, and takes w's slot: its handler may go on
// for as long as it likes.
func (w *worker) giveUp() {
	r, d := w.runner, w.delivery
	r.stopJoining(d)
	r.free(w)
	w.givenUp = true
	r.abandoned++
	now := time.Now()
	err := fmt.Errorf("%w: its handler was still running after %v and ignores the end of its context",
		batch.ErrAbandoned, now.Sub(d.Result.Started).Round(time.Millisecond))
	if !r.failOrDecide(d, batch.Abandoned, err, now) {
		r.notifyAside(d)
	}
}
