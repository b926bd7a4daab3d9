package runner

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

// worker is a goroutine that handles deliveries one after another; it takes a slot.
// Its fields are written with the runner's lock. Its own goroutine may read delivery without
// it.
type worker struct {
	runner   *Runner
	delivery *Delivery // that it handles; nil between two
	due      time.Time // when to end the context of its delivery, then when to give up on it; zero for never
	inHook   time.Time // since when it has been calling hooks; zero if it does not
	slot     int       // its place among Runner.active
	fresh    bool      // it has a slot for its first delivery
	ended    bool      // the context of its delivery was ended
	givenUp  bool      // it lost its slot, and its delivery is finished
}

// addWorker starts a worker if there is a delivery for it and a slot. Each worker
// starts the next one when it has taken its first delivery: a batch whose records
// take no time is done before ten goroutines have been made for it.
func (r *Runner) addWorker() {
	if r.starting || len(r.active) >= r.slots || !r.startable() || r.share != nil && !r.share.acquire() {
		return
	}
	r.starting = true
	go r.newWorker().work()
}

func (r *Runner) newWorker() *worker {
	w := &worker{runner: r, slot: len(r.active), fresh: true}
	r.active = append(r.active, w)
	return w
}

// granted uses a slot that other runners have left, or gives it back.
func (r *Runner) granted() {
	r.mu.Lock()
	w := r.newWorker()
	w.fresh = len(r.active) <= r.slots
	r.mu.Unlock()
	w.work()
}

// free takes w's slot away.
func (r *Runner) free(w *worker) {
	if r.share != nil {
		r.share.release()
	}
	last := r.active[len(r.active)-1]
	r.active[w.slot], last.slot = last, w.slot
	r.active = r.active[:len(r.active)-1]
	if len(r.active) == 0 && r.timer != nil {
		r.timer.Stop()
		r.due = time.Time{}
	}
}

// work handles deliveries until none is left for w.
func (w *worker) work() {
	returned := false
	defer func() {
		if !returned && w.finish(failure{err: batch.ErrGoexit}) {
			go w.work() // the handler ended this goroutine: another goes on
		}
	}()
	for more := w.delivery != nil || w.startFirst(); more; {
		more = w.finish(w.handle())
	}
	returned = true
}

// startFirst starts w's first delivery.
func (w *worker) startFirst() bool {
	w.runner.mu.Lock()
	defer w.runner.mu.Unlock()
	w.runner.starting = false
	return w.start(time.Now())
}

// start starts w's next delivery, and reports whether there is one; without one w has
// no slot any more. The caller has the lock.
func (w *worker) start(now time.Time) bool {
	r := w.runner
	d, now := w.next(now)
	if d == nil {
		r.free(w)
		r.addWorker() // later, in a slot that others leave
		r.checkIdle()
		return false
	}
	w.run(d, now)
	r.addWorker()
	return true
}

// next removes and returns the ready delivery that starts next in w's slot, and the time.
func (w *worker) next(now time.Time) (*Delivery, time.Time) {
	r := w.runner
	goesOn := w.fresh || len(r.active) <= r.slots && (r.share == nil || !r.share.yields())
	for w.fresh = false; goesOn && r.startable(); {
		d := r.ready.pop()
		if !r.admit(d, now) {
			continue
		}
		if !r.askLast(d) {
			return d, now
		}
		if now = time.Now(); r.paused { // meanwhile
			r.ready.pushFront(d)
		} else if r.admit(d, now) {
			return d, now
		}
	}
	return nil, now
}

// run gives w a delivery that starts now. A deadline that is the cutoff needs no timer: the owner then
// ends all deliveries.
func (w *worker) run(d *Delivery, now time.Time) {
	r := w.runner
	w.delivery, w.due, w.ended, d.Result.Started = d, time.Time{}, false, now
	r.enter(d, Running)
	if r.contexts {
		w.inHook = now
	}
	deadline := r.deadlineOf(d, now)
	if deadline.IsZero() {
		return
	}
	d.deadline = deadline.Sub(r.began)
	d.Result.Allowed = max(0, deadline.Sub(now)) // less for one that follows another
	if !deadline.Equal(r.options.Times.Cutoff) {
		w.setDue(deadline)
	}
}

// admit reports whether d may start now. If its time is too short, it gets its outcome, or
// becomes ready again.
func (r *Runner) admit(d *Delivery, now time.Time) bool {
	cutoff := r.cutoff(d)
	switch {
	case d.Lapsed(now):
		d.Result.Outcome, d.Result.Err, d.Verdict = batch.Retry, expired.err, expired.verdict
		r.fail(d)
	case cutoff.IsZero(), r.pace.Enough(cutoff.Sub(now), r.cfg.MinRemaining):
		return true
	case d.Within == 0: // time only gets shorter
		r.ready.pushFront(d)
		r.Pause()
	default:
		r.notStart(d, errTooLate)
	}
	return false
}

// addValues calls the hooks that add values to the context of a record.
func (w *worker) addValues(ctx *recordContext) {
	r := w.runner
	own := values{r.parent, r.parent}
	if r.Hooks.Batches && r.options.Single {
		info := batch.BatchInfo{Records: 1, QueueARN: ctx.Record.QueueARN, Started: ctx.Result.Started}
		own.batch = r.Hooks.BatchContext(r.parent, info, []batch.Record{*ctx.Record})
		own.record = own.batch
		ctx.values.Store(new(own))
		if ctx.Err() != nil { // meanwhile
			return
		}
	}
	if r.Hooks.Contexts {
		own.record = r.Hooks.RecordContext(ctx, own.batch, ctx.Record)
		ctx.values.Store(&own)
	}
}

// handle notifies the hooks that w's delivery starts, and calls its handler, unless its
// context has ended meanwhile.
func (w *worker) handle() failure {
	r, d := w.runner, w.delivery
	ctx := (*recordContext)(d)
	if r.contexts {
		w.addValues(ctx)
		r.mu.Lock()
		w.inHook = time.Time{}
		lost := d.Lapsed(time.Now())
		r.mu.Unlock()
		switch err := ctx.Err(); {
		case err != nil:
			return judge(err)
		case lost: // while a hook blocked
			return expired
		}
	}
	return r.call(ctx)
}

// finish takes the outcome of w's delivery, which failed if f has an error, and starts
// the next one; it reports whether there is one. After w was given up it changes nothing.
func (w *worker) finish(f failure) (more bool) {
	now, r := time.Now(), w.runner
	r.mu.Lock()
	defer r.mu.Unlock()
	d := w.delivery // nil if a hook ended the goroutine after the outcome was taken
	w.delivery, w.inHook = nil, time.Time{}
	if d != nil {
		(*recordContext)(d).end(context.Canceled)
	}
	switch {
	case w.givenUp:
		r.abandoned--
		r.signal()
		return false
	case d == nil:
		return w.start(now)
	}
	outcome, decides := batch.Succeeded, false
	if f.err != nil {
		outcome = cmp.Or(f.verdict.Outcome, batch.Retry)
	}
	if d.Verdict = f.verdict; outcome.Done() {
		w.done(d, outcome, now)
	} else {
		decides = r.failOrDecide(d, outcome, f.err, now)
	}
	if !decides && r.Hooks.Outcomes {
		r.notifying++
		w.inHook = now
		r.notify(d, d.copies())
		now, w.inHook = time.Now(), time.Time{}
	}
	return w.start(now)
}

// done finishes a delivery that was handled.
func (w *worker) done(d *Delivery, outcome batch.Outcome, now time.Time) {
	r := w.runner
	d.Result.Outcome, d.Result.Duration = outcome, now.Sub(d.Result.Started)
	if outcome == batch.Succeeded && !d.follows && !r.cutoff(d).IsZero() {
		r.pace.Add(d.Result.Duration)
	}
	r.advance(d)
	if !r.closed { // on Lambda, Run returns the successes
		r.report(d)
	}
}

// next finishes d as a success, and has its worker go on with the one behind it. It returns nil if
// none was handled together with d, or if the worker was given up.
func (r *Runner) next(d *Delivery) *Delivery {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	at := slices.IndexFunc(r.active, func(w *worker) bool { return w.delivery == d })
	behind := d.next
	if at < 0 || d.together == 0 || behind == nil {
		return nil
	}
	behind.together, behind.alone, behind.follows = d.together-1, d.alone, true
	(*recordContext)(d).end(context.Canceled)
	w := r.active[at]
	w.done(d, batch.Succeeded, now)
	r.notifyAside(d)
	w.run(behind, now)
	if r.contexts {
		func() {
			r.mu.Unlock()
			defer r.mu.Lock() // also after a Goexit
			w.addValues((*recordContext)(behind))
		}()
		w.inHook = time.Time{}
	}
	if w.givenUp { // while a hook blocked
		return nil
	}
	return behind
}

// askLast sets d.Last if the owner has not, and reports whether it had to ask. It asks only if other
// records wait for d, since SQS would give up on those as well. The answer may take a moment, for
// which it releases the lock: other workers start.
func (r *Runner) askLast(d *Delivery) (asked bool) {
	if r.options.LastAttempt == nil || d.Last || d.next == nil || r.cutoff(d).IsZero() {
		return false
	}
	r.addWorker()
	r.mu.Unlock()
	last := r.options.LastAttempt(d.Record)
	r.mu.Lock()
	d.Last = last
	return true
}

// setDue schedules a check of w at t. All workers share one timer. It is set to the earliest of their
// times, or to that of a delivery that has finished since.
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
