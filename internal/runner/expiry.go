package runner

import (
	"context"
	"fmt"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

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
	r.addWorker()
	r.checkIdle()
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
