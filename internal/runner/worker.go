package runner

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

// worker is a goroutine that handles deliveries one after another; it takes a slot.
// Its fields are guarded by the runner's lock.
type worker struct {
	runner   *Runner
	delivery *Delivery // that it handles; nil between two
	fresh    bool      // it has not taken its first
	slot     int       // its place among Runner.active
	givenUp  bool      // its slot is another's, and what it handles is finished
	opening  bool      // the hooks are told that the batch of its delivery begins
	timer    *time.Timer
	hook     atomic.Pointer[time.Time] // since when it has been calling hooks; nil if it does not
}

// grow starts a worker if there is a delivery for it and a slot. Each worker
// starts the next one when it has taken its first delivery: a batch whose records
// take no time is done before ten goroutines have been made for it.
func (r *Runner) grow() {
	if r.growing || r.ready.first == nil || r.held && r.answers == 0 || len(r.active) >= r.slots {
		return
	}
	r.growing = true
	var w *worker
	if last := len(r.spare) - 1; last >= 0 {
		w, r.spare = r.spare[last], r.spare[:last]
		w.fresh = true
	} else {
		w = &worker{runner: r, fresh: true}
	}
	w.slot = len(r.active)
	r.active = append(r.active, w)
	go w.work()
}

// free takes w's slot away.
func (r *Runner) free(w *worker) {
	last := r.active[len(r.active)-1]
	r.active[w.slot], last.slot = last, w.slot
	r.active = r.active[:len(r.active)-1]
}

// work handles deliveries until none is left for w.
func (w *worker) work() {
	returned := false
	defer func() {
		if !returned && w.finish(batch.ErrGoexit) {
			go w.work() // the handler ended this goroutine: another goes on
		}
	}()
	for w.start() {
		d := w.delivery
		if w.opening {
			w.open(d)
			continue
		}
		err := w.tellStart(d)
		if err == nil {
			err = w.runner.call(&d.ctx, d)
		}
		if !w.finish(err) {
			break
		}
	}
	returned = true
}

// start takes w's next delivery, and reports whether there is one.
func (w *worker) start() bool {
	r := w.runner
	r.mu.Lock()
	defer r.mu.Unlock()
	if w.fresh {
		w.fresh, r.growing = false, false
	}
	if w.givenUp {
		return false
	}
	d := r.next()
	if d != nil && d.answer == nil {
		if r.askLast(d); r.held { // meanwhile
			r.ready.pushFront(d)
			d = nil
		}
	}
	if d == nil {
		r.free(w)
		if !r.closed {
			r.spare = append(r.spare, w)
		}
		r.checkIdle()
		r.checkParked()
		return false
	}
	now := time.Now()
	deadline := r.deadline(d, now)
	w.delivery, d.worker, d.state, d.Result.Started = d, w, running, now
	r.waiting--
	r.running++
	if d.Batch != nil && !d.Batch.begun {
		d.Batch.begun, d.Batch.Info.Started = true, now
		w.opening = r.hooks.WantsBatch()
	}
	if !w.opening {
		w.allow(d, deadline)
	}
	r.grow()
	return true
}

// allow gives d, which starts now, until its deadline.
func (w *worker) allow(d *Delivery, deadline time.Time) {
	d.ctx.deadline = deadline
	if d.answer != nil {
		d.known = true
		w.runner.answers--
	}
	if !deadline.IsZero() {
		d.Result.Allowed = max(0, deadline.Sub(d.Result.Started)) // less for what is known already
	}
	w.arm(deadline)
}

// next takes the delivery that shall be started next out of those that are ready.
func (r *Runner) next() *Delivery {
	for {
		if r.over || r.held && r.answers == 0 {
			return nil
		}
		d := r.ready.pop(func(d *Delivery) bool { return !r.held || d.answer != nil })
		if d == nil {
			return nil
		}
		now, cutoff := time.Now(), r.cutoff(d)
		switch {
		case !d.Lease.IsZero() && !now.Before(d.Lease):
			r.waiting--
			r.forget(d)
			d.Result.Outcome, d.Result.Err = batch.Retry, ErrLeaseExpired
			r.fail(d)
		case d.answer != nil: // it is done: only its outcome is still to be told
			return d
		case d.cut != nil:
			r.waiting--
			r.notStart(d, d.cut)
		case cutoff.IsZero() || r.pace.enough(cutoff.Sub(now), r.cfg.MinRemaining) || d.isFresh(now):
			return d
		case d.Cutoff.IsZero(): // time only gets shorter
			r.ready.pushFront(d)
			r.hold()
		default:
			r.waiting--
			d.Result.Outcome, d.Result.Err = batch.NotStarted, errTooLate
			r.fail(d)
		}
	}
}

// isFresh reports whether d was added a moment ago, with a cutoff of its own: if there is
// too little time even then, there will be no more when it has been received again.
func (d *Delivery) isFresh(now time.Time) bool {
	return now.Before(d.Cutoff) && now.Sub(d.added) < time.Second
}

// open tells the hooks that the batch of w's delivery begins. Its turn comes after that:
// much may have changed meanwhile.
func (w *worker) open(d *Delivery) {
	w.watchHook()
	d.Batch.tell(w.runner.parent, w.runner.hooks)
	w.hook.Store(nil)
	r := w.runner
	r.mu.Lock()
	defer r.mu.Unlock()
	w.opening, w.delivery = false, nil
	if w.givenUp {
		r.abandoned--
		r.signal()
		return
	}
	d.state, d.Result.Started = waiting, time.Time{}
	r.running--
	r.waiting++
	r.ready.pushFront(d)
}

// notStart ends a delivery that was not started, although its turn had come.
func (r *Runner) notStart(d *Delivery, why error) {
	d.Result.Outcome, d.Result.Err = batch.NotStarted, why
	d.Result.Started, d.Result.Allowed = time.Time{}, 0
	r.fail(d)
}

// tellStart tells the hooks that a delivery starts. It returns the error of its
// context if that has ended meanwhile.
func (w *worker) tellStart(d *Delivery) error {
	r := w.runner
	if d.Batch != nil {
		if own := d.Batch.ctx.Load(); own != nil {
			d.ctx.values.Store(own)
		}
	}
	if r.hooks.WantsStarted() {
		w.watchHook()
		if r.hooks.WantsRecordContext() {
			values := r.hooks.RecordContext(&d.ctx, d.ctx.inherited(), d.Record)
			d.ctx.values.Store(&values)
		}
		r.hooks.RecordStarted(&d.ctx, d.Record)
		w.hook.Store(nil)
	}
	if d.known {
		return nil
	}
	return d.ctx.Err()
}

// watchHook notes that w calls hooks, so that one that hangs is seen.
func (w *worker) watchHook() {
	now := time.Now()
	w.hook.Store(&now)
}

// call calls the handler. A panic becomes an error; a Goexit passes.
func (r *Runner) call(ctx context.Context, d *Delivery) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &batch.PanicError{Value: harmless(v), Stack: debug.Stack()}
		}
	}()
	if err = r.handle(ctx, *d.Record); err != nil {
		err = sanitize(err)
		if r.cfg.Classify != nil {
			err = sanitize(r.classify(ctx, err))
		}
	}
	return err
}

// sanitize panics here if an error's methods do, as those of a nil pointer in an
// error often do: later it would be where nobody expects it.
func sanitize(err error) error {
	_ = err.Error()
	_ = batch.VerdictOf(err)
	return err
}

// harmless returns what a handler panicked with, as text if it is an error
// whose own methods panic.
func harmless(v any) (safe any) {
	defer func() {
		if recover() != nil {
			safe = fmt.Sprintf("%T: %v", v, v) // fmt contains the panic of a method
		}
	}()
	if err, ok := v.(error); ok {
		return sanitize(err)
	}
	return v
}

// finish takes the outcome of w's delivery, which failed if err is not nil, and
// reports whether w may take another. After w was given up it changes nothing.
func (w *worker) finish(err error) (more bool) {
	now := time.Now()
	verdict := batch.VerdictOf(err)
	r := w.runner
	r.mu.Lock()
	d := w.delivery
	if d == nil { // a hook ended the goroutine after the outcome was taken
		more = !w.givenUp
		r.mu.Unlock()
		return more
	}
	w.delivery, w.opening = nil, false
	w.hook.Store(nil)
	d.ctx.end(context.Canceled)
	if w.timer != nil {
		w.timer.Stop()
	}
	if w.givenUp {
		r.abandoned--
		r.signal()
		r.mu.Unlock()
		return false
	}
	r.unpark(d)
	r.running--
	d.Verdict = verdict
	d.Result.Duration, d.Result.Err = now.Sub(d.Result.Started), err
	told := true
	if err == nil {
		d.Result.Outcome = batch.Succeeded
		if !d.known && !r.cutoff(d).IsZero() {
			r.pace.add(d.Result.Duration)
		}
		r.succeed(d)
	} else {
		d.Result.Outcome = batch.Retry
		told = !r.failOrDecide(d, now)
	}
	if !told || !r.hooks.WantsFinished() {
		r.checkIdle()
		r.mu.Unlock()
		return true
	}
	list := copies(d)
	r.telling++
	r.mu.Unlock()
	w.watchHook()
	defer r.told()
	defer w.hook.Store(nil)
	r.tell(d, list)
	return true
}

// failOrDecide ends a delivery that failed, or has its owner decide.
func (r *Runner) failOrDecide(d *Delivery, now time.Time) (decides bool) {
	decides = r.decides(d, now)
	r.abort(d) // not only once it is decided
	if !decides {
		r.fail(d)
		return false
	}
	d.state = deciding
	r.deciding = append(r.deciding, d)
	r.hand(d)
	return true
}
