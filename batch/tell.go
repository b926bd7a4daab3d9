package batch

import (
	"fmt"
	"time"
)

func (r *run) tellHandled(ctx *recordContext, result *Result) {
	if r.on != nil {
		r.on.Handled(result)
	}
	r.tell(ctx, []*Result{result})
}

func (r *run) tellFailed(ctx *recordContext, unit []*Result) {
	defer r.tell(ctx, unit)
	if r.settling != nil {
		r.settling.Failed(unit)
	}
}

// tell calls the hooks for a unit of results, without the lock, then counts
// its record as no longer running.
func (r *run) tell(ctx *recordContext, unit []*Result) {
	defer func() {
		r.running--
		r.checkDone()
	}()
	if len(r.hooks.recordFinished) == 0 {
		return
	}
	told := copies(unit)
	r.telling++
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		r.told()
	}()
	r.hooks.finishedAll(ctx, told)
}

// copies are for the hooks: the results may be settled before a slow one returns.
func copies(unit []*Result) []Result {
	list := make([]Result, len(unit))
	for i, result := range unit {
		list[i] = *result
	}
	return list
}

// finishedAll tells the hooks of a record, in its context, and of those that
// were skipped for it.
func (h *Hooks) finishedAll(ctx *recordContext, unit []Result) {
	h.finished(ctx, unit[0])
	for _, skipped := range unit[1:] {
		h.finished(WithRecord(ctx.parent(), *skipped.Record), skipped)
	}
}

// abandoned is what the hooks are told of a record that was given up.
type abandoned struct {
	ctx  *recordContext
	unit []Result
}

// tellAbandoned tells the hooks beside the batch, which has no time left for them.
func (r *run) tellAbandoned(list []abandoned) {
	if len(list) == 0 || len(r.hooks.recordFinished) == 0 {
		return
	}
	r.telling++
	go func() {
		defer func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.told()
		}()
		for _, a := range list {
			r.hooks.finishedAll(a.ctx, a.unit)
		}
	}()
}

// told counts a call of hooks as over.
func (r *run) told() {
	r.telling--
	if r.telling == 0 && r.quiet != nil {
		close(r.quiet)
		r.quiet = nil
	}
}

// awaitHooks waits until no hook is being told any more, but not beyond
// SettleBy: a hook that blocks must not cost the response. It returns what to
// warn of.
func (r *run) awaitHooks() []Warning {
	if r.telling == 0 {
		return nil
	}
	quiet := make(chan struct{})
	r.quiet = quiet
	r.mu.Unlock()
	defer r.mu.Lock()
	if r.await(quiet) {
		return nil
	}
	return []Warning{{Queue: QueueName(r.records[0].QueueARN), Message: fmt.Sprintf(
		"a RecordFinished hook still runs %v after the cutoff and is not waited for: hooks must not block",
		time.Since(r.times.Cutoff).Round(time.Millisecond))}}
}

// warn tells the hooks of warnings, with the same bound.
func (r *run) warn(list []Warning) {
	if len(list) == 0 {
		return
	}
	told := make(chan struct{})
	go func() {
		defer close(told)
		for _, w := range list {
			r.hooks.Warn(r.parent, w)
		}
	}()
	r.await(told)
}

// await waits for done, and reports false when half of what is left until
// SettleBy is over before: the rest is for settling.
func (r *run) await(done <-chan struct{}) bool {
	var late <-chan time.Time
	if !r.times.SettleBy.IsZero() {
		timer := time.NewTimer(time.Until(r.times.SettleBy) / 2)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-done:
		return true
	case <-late:
		return false
	}
}
