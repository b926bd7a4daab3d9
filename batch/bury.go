package batch

import (
	"context"
	"time"
)

// bury asks whether w's record, which failed with err, can be put out of the way
// of those of its FIFO group behind it, and returns its result if that was done.
// Without that they would share its attempts, and its end: SQS gives up on each
// of them after the same number of deliveries, whether a handler saw it or not.
func (r *run) bury(w *worker, err error) *Result {
	if err == nil || r.settling == nil {
		return nil
	}
	ctx, result := r.beginBurial(w, err)
	if ctx == nil {
		return nil
	}
	defer w.endBurial()
	if !r.settling.Bury(ctx, &result) || !result.Outcome.Done() {
		return nil
	}
	return &result
}

// beginBurial returns a nil context when there is nothing to ask.
func (r *run) beginBurial(w *worker, err error) (ctx context.Context, result Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	cutoff := r.times.Cutoff
	if !cutoff.IsZero() && !time.Now().Before(cutoff) {
		return nil, result // nothing behind it could be started
	}
	if w.ctx == nil || r.stopped || w.slot == none || w.next == none {
		return nil, result
	}
	r.abort(err)                // not only once it is buried
	w.ctx.end(context.Canceled) // the handler has returned
	if w.timer != nil {
		w.timer.Stop()
	}
	result = r.results[w.record]
	result.Outcome, result.Err, result.Duration = Retry, err, time.Since(result.Started)
	if w.abandoned != nil {
		result.Outcome = Abandoned
	}
	failed := result
	w.burying = &failed
	if cutoff.IsZero() {
		ctx, w.endBurial = context.WithCancel(r.parent)
	} else {
		ctx, w.endBurial = context.WithDeadline(r.parent, cutoff)
	}
	return ctx, result
}
