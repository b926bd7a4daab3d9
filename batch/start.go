package batch

import (
	"context"
	"time"
)

// Progress is told what becomes of records while their batch runs. But for
// Begin, Bury and Done, its methods are called under the batch's lock: they must
// not block, nor call back into the batch.
type Progress interface {
	// Begin is asked when a record's turn has come. What it returns, unless nil,
	// is the record's error, and its handler is not called.
	Begin(*Record) error
	// Handled is told of each record that is done with: its handler returned
	// nil, or it was buried.
	Handled(*Result)
	Settling
	// Abandoned is told of each handler that is given up.
	Abandoned(*Record)
	// Late is told of each handler that returns after it was given up.
	Late(*Record)
	// Done is told all results, once, when [Engine.Run] would have returned
	// them. It is called on a goroutine of its own.
	Done([]Result)
}

// Running is a batch that was begun by [Engine.Start].
type Running struct{ run *run }

// Start is [Engine.Run] without waiting for the end: it returns at once, and
// on is told the results. The handlers' contexts have ctx's values; the end
// of ctx is not watched, see [Running.Cancel].
//
// Cost: beside Run's, one goroutine for a moment at the end.
func (e *Engine) Start(ctx context.Context, records []Record, times Times, on Progress) *Running {
	r := e.newRun(ctx, records, times)
	r.on, r.settling = on, on
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(records) == 0 {
		r.checkDone()
		return &Running{r}
	}
	if !times.Cutoff.IsZero() {
		r.endTimer = time.AfterFunc(time.Until(times.Cutoff), func() { r.end(context.DeadlineExceeded) })
	}
	r.grow()
	return &Running{r}
}

// Stop starts no further record of the batch: those left are NotStarted.
func (b *Running) Stop() {
	b.run.mu.Lock()
	defer b.run.mu.Unlock()
	b.run.byCaller = true
	b.run.stop()
	b.run.Engine.shared.idle() // who stops one batch begins no other that could join, see gathering
}

// Cancel stops the batch and ends the context of what runs, with
// [context.Canceled]. Handlers that do not return within the grace are
// abandoned.
func (b *Running) Cancel() {
	b.run.mu.Lock()
	b.run.byCaller = true
	b.run.mu.Unlock()
	b.run.end(context.Canceled)
}

// end is what wait does at the cutoff, for a batch that nobody waits for.
func (r *run) end(err error) {
	r.endAll(err)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended || r.ending {
		return
	}
	r.ending = true
	if r.endTimer != nil {
		r.endTimer.Stop()
	}
	r.endTimer = time.AfterFunc(r.cutoffGrace(), func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.finished()
	})
}

// finished ends the wait for the batch, once.
func (r *run) finished() {
	if r.ended {
		return
	}
	r.ended = true
	if r.done != nil {
		close(r.done)
		return
	}
	if r.endTimer != nil {
		r.endTimer.Stop()
	}
	go func() { r.on.Done(r.close()) }()
}
