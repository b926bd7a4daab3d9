package batch

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"
)

// worker is a goroutine that handles records one after another. Its fields
// are guarded by run.mu.
type worker struct {
	run    *run
	parent context.Context // the run's
	answer any             // for its record, see gathering.Wake; nil if there is none
	fresh  bool            // it has not taken its first record
	ctx    *recordContext  // of the record it handles; nil between records
	record int             // index of that record
	next   int             // the next record of the same chain, or none
	timer  *time.Timer     // see run.arm

	abandoned error              // of its record, whose handler another worker called, which was given up
	burying   *Result            // what to say of its record if the burial is given up; nil unless one is under way
	endBurial context.CancelFunc // ends it
	slot      int                // its place among run.active, or none once its batch gave up on it
}

func (r *run) join(w *worker) {
	w.slot = len(r.active)
	r.active = append(r.active, w)
}

func (r *run) leave(w *worker) {
	if w.slot == none {
		return
	}
	last := r.active[len(r.active)-1]
	r.active[w.slot], last.slot = last, w.slot
	r.active = r.active[:len(r.active)-1]
	w.slot = none
}

// grow starts a worker if there is a record for it and a place. Each worker
// starts the next one when it has taken its first record: a batch whose
// records take no time is done before ten goroutines have been made for it.
func (r *run) grow() {
	if r.growing || r.stopped || r.nextChain == r.order.chains() || len(r.active) >= r.cfg.Concurrency {
		return
	}
	r.growing = true
	w := &worker{run: r, parent: r.parent, next: none, fresh: true}
	r.join(w)
	go r.work(w)
}

// work handles records until none is left for w.
func (r *run) work(w *worker) {
	returned := false
	defer func() {
		if !returned && r.over(w, ErrGoexit, r.bury(w, ErrGoexit)) {
			go r.work(w) // the handler ended this goroutine: another goes on
		}
	}()
	if w.abandoned != nil && !r.over(w, w.abandoned, r.bury(w, w.abandoned)) {
		returned = true
		return
	}
	for ctx := r.take(w); ctx != nil; ctx = r.take(w) {
		var buried *Result
		err := r.mayBegin(ctx)
		if err == nil {
			err = r.call(ctx)
			buried = r.bury(w, err)
		}
		if !r.over(w, err, buried) {
			break
		}
	}
	returned = true
}

// take picks w's next record and returns its context, or nil if there is none.
func (r *run) take(w *worker) *recordContext {
	ctx := r.begin(w)
	if ctx != nil {
		r.hooks.recordContext(ctx)
		r.hooks.started(ctx, ctx.record)
	}
	return ctx
}

func (r *run) begin(w *worker) *recordContext {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if w.fresh {
		w.fresh, r.growing = false, false
	}
	i := r.choose(w, now)
	last, asked := r.isLast(i)
	if asked {
		now = time.Now()
	}
	if i == none || asked && r.stopped {
		r.leave(w)
		r.checkIdle()
		return nil
	}
	deadline := r.deadline(now, i, last)
	ctx := &recordContext{worker: w, record: &r.records[i], deadline: deadline}
	w.ctx, w.record, w.next = ctx, i, r.order.after(i)
	r.takeAnswer(w)
	r.waiting--
	r.running++
	result := &r.results[i]
	result.Record = ctx.record
	result.Started = now
	if !deadline.IsZero() {
		result.Allowed = max(0, deadline.Sub(now)) // less for what is known already
	}
	r.arm(w)
	r.grow()
	return ctx
}

// choose returns the record that w shall start, or none.
func (r *run) choose(w *worker, now time.Time) int {
	if _, answered := r.answers[w.next]; answered && w.slot != none && !r.ended {
		return w.next // it is done: only its outcome is still to be told
	}
	if r.stopped {
		return none
	}
	if w.next == none && r.nextChain == r.order.chains() {
		return none
	}
	if !r.times.Cutoff.IsZero() && !r.pace.enough(r.times.Cutoff.Sub(now), r.cfg.MinRemaining) {
		r.stop() // time only gets shorter
		return none
	}
	if w.next != none {
		return w.next
	}
	r.nextChain++
	return r.order.head(r.nextChain - 1)
}

// isLast reports whether record i is delivered for the last time while others wait
// for it, which would come to the same end. To ask for that may take a moment: the
// lock is not held meanwhile, and other workers start.
func (r *run) isLast(i int) (last, asked bool) {
	if _, answered := r.answers[i]; answered || i == none || r.settling == nil || r.times.Cutoff.IsZero() || r.order.after(i) == none {
		return false, false
	}
	r.grow()
	r.mu.Unlock()
	defer r.mu.Lock()
	return r.settling.LastAttempt(&r.records[i]), true
}

// mayBegin asks whether a record is still to be handled.
func (r *run) mayBegin(ctx *recordContext) error {
	if err := ctx.Err(); err != nil && !ctx.known {
		return err // it ended while the hooks were told of the start
	}
	if r.on == nil {
		return nil
	}
	return r.on.Begin(ctx.record)
}

// call calls the handler. A panic becomes an error; a Goexit passes.
func (r *run) call(ctx *recordContext) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: harmless(v), Stack: debug.Stack()}
		}
	}()
	if err = r.handle(ctx, *ctx.record); err != nil {
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
	_ = VerdictOf(err)
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

// over takes the result of w's record, which failed with err if that is not nil
// and was buried if buried is not, and reports whether w may take another. After
// its batch gave up on w, the result changes nothing.
func (r *run) over(w *worker, err error, buried *Result) bool {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	ctx := w.ctx
	if ctx == nil { // a hook ended the goroutine after the result was taken
		return w.slot != none
	}
	ctx.end(context.Canceled)
	r.unpark(w)
	w.ctx, w.answer = nil, nil
	if w.timer != nil {
		w.timer.Stop()
	}
	abandoned, failed := w.abandoned != nil, w.burying
	w.abandoned, w.burying = nil, nil
	if w.slot == none {
		if failed == nil && !abandoned && r.on != nil {
			r.on.Late(ctx.record)
		}
		return false
	}
	if err != nil {
		r.abort(err)
	}
	result := &r.results[w.record]
	result.Duration = now.Sub(result.Started)
	if failed != nil {
		result.Duration = failed.Duration // not of the burial
	}
	switch {
	case err == nil:
		result.Outcome = Succeeded
		if !r.times.Cutoff.IsZero() && !ctx.known {
			r.pace.add(result.Duration)
		}
		r.tellHandled(ctx, result)
	case buried != nil:
		*result = *buried
		r.tellHandled(ctx, result)
	default:
		result.Outcome, result.Err = Retry, err
		if abandoned {
			result.Outcome = Abandoned
		}
		r.tellFailed(ctx, r.fail(w))
	}
	return true
}

// behind counts the records that wait for one.
func (r *run) behind(record int) (n int) {
	for i := r.order.after(record); i != none; i = r.order.after(i) {
		n++
	}
	return n
}
