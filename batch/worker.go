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

	burying   *Result            // what to say of its record if the burial is given up; nil unless one is under way
	endBurial context.CancelFunc // ends it
	crew      *crew              // active, overdue, or nil once its batch gave up on it
	slot      int                // its place in crew
}

// crew is a set of workers.
type crew []*worker

// join moves w to c, out of the crew that it is in.
func (w *worker) join(c *crew) {
	w.leave()
	w.crew, w.slot = c, len(*c)
	*c = append(*c, w)
}

func (w *worker) leave() {
	if w.crew == nil {
		return
	}
	c := *w.crew
	last := c[len(c)-1]
	c[w.slot], last.slot = last, w.slot
	*w.crew = c[:len(c)-1]
	w.crew = nil
}

// grow starts a worker if there is a record for it and a place. Each worker
// starts the next one when it has taken its first record: a batch whose
// records take no time is done before ten goroutines have been made for it.
func (r *run) grow() {
	startable := r.nextChain < r.order.chains() || len(r.resume) > 0
	if r.growing || r.stopped || !startable || len(r.active) >= r.cfg.Concurrency {
		return
	}
	r.growing = true
	w := &worker{run: r, parent: r.parent, next: none, fresh: true}
	w.join(&r.active)
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
	if i == none {
		w.leave()
		r.checkIdle()
		return nil
	}
	deadline := r.deadline(now)
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
	if w.next != none && w.crew == &r.active && !r.ended && r.answers[w.next].awaited {
		return w.next // it is done: only its outcome is still to be told
	}
	if r.stopped {
		return none
	}
	if w.next == none && len(r.resume) == 0 && r.nextChain == r.order.chains() {
		return none
	}
	if !r.times.Cutoff.IsZero() && !r.pace.enough(r.times.Cutoff.Sub(now), r.cfg.MinRemaining) {
		r.stop() // time only gets shorter
		return none
	}
	switch {
	case w.next != none:
		return w.next
	case len(r.resume) > 0:
		i := r.resume[0]
		r.resume = r.resume[1:]
		return i
	default:
		r.nextChain++
		return r.order.head(r.nextChain - 1)
	}
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
		err = probe(err)
		if r.cfg.Classify != nil {
			err = probe(r.classify(ctx, err))
		}
	}
	return err
}

// probe panics here if an error's methods do, as those of a nil pointer in an
// error often do: later it would be where nobody expects it. It returns err, or in
// place of one that has no end another with its text and its verb: errors.Is would
// look at that for ever.
func probe(err error) error {
	text := err.Error()
	v, whole := verdictOf(err)
	if whole {
		return err
	}
	err = fmt.Errorf("%s (it wraps more than %d errors, or itself)", text, maxErrors)
	switch {
	case v.Permanent:
		err = Permanent(err)
	case v.Aborts:
		return Abort(v.After, err)
	}
	if v.HasAfter {
		err = RetryAfter(v.After, err)
	}
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
		return probe(err)
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
		return w.crew == &r.active
	}
	ctx.end(context.Canceled)
	r.unpark(w)
	w.ctx, w.answer = nil, nil
	if w.timer != nil {
		w.timer.Stop()
	}
	late := w.crew == nil && w.burying == nil
	w.burying = nil
	if w.crew == nil {
		if late && r.on != nil {
			r.on.Late(ctx.record)
		}
		return false
	}
	goOn := r.backInTime(w)
	if err != nil {
		r.abort(err)
	}
	defer r.handOver(w, goOn)
	result := &r.results[w.record]
	result.Duration = now.Sub(result.Started)
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
		r.tellFailed(ctx, r.fail(w))
	}
	return goOn
}

// handOver leaves the rest of w's chain to others if w does not go on.
func (r *run) handOver(w *worker, goOn bool) {
	if !goOn && w.next != none {
		r.resume = append(r.resume, w.next)
		r.grow()
	}
}

// backInTime makes an overdue worker's record an ordinary one again, and
// reports whether w still has its place.
func (r *run) backInTime(w *worker) bool {
	if w.crew == &r.active {
		return true
	}
	w.leave()
	r.running++
	r.blocked -= r.behind(w)
	return false
}

// behind counts the records that wait for w's.
func (r *run) behind(w *worker) (n int) {
	for i := w.next; i != none; i = r.order.after(i) {
		n++
	}
	return n
}
