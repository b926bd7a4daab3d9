package runner

import (
	"context"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/ctxkey"
)

// View is what packages bulk and idempotency see of a runner through a record's context.
// After its record has finished, it has no effect. Do not call its methods while holding a
// lock that a [Shared] takes.
type View struct{ delivery *Delivery }

// From returns the view of the record whose context ctx is, and false if ctx is not from a
// runner.
func From(ctx context.Context) (View, bool) {
	v, ok := ctx.Value(ctxkey.Runner{}).(View)
	return v, ok
}

// whileRunning calls f with the runner's lock, unless the record has finished.
func (v View) whileRunning(f func(*Runner, *Delivery)) {
	r, d := v.delivery.runner, v.delivery
	r.mu.Lock()
	defer r.mu.Unlock()
	if d.State == Running {
		f(r, d)
	}
}

// Inherited returns the context from which the record's own is made. It has the values of the
// batch, and none of the record's.
func (v View) Inherited() context.Context { return v.delivery.BatchContext() }

// HandledBy reports whether the runner calls h directly, without middleware.
func (v View) HandledBy(h batch.Handler) bool { return v.delivery.runner.handler == h }

// Behind returns the records that wait for this one in its FIFO group, in order, up to
// most. They are not taken back until this record has finished, since its handler may handle
// them as well, see [View.Next].
func (v View) Behind(most int) (list []*batch.Record) {
	v.whileRunning(func(_ *Runner, d *Delivery) {
		for behind := d.next; behind != nil && len(list) < most; behind = behind.next {
			list = append(list, behind.Record)
		}
		d.together = len(list)
	})
	return list
}

// Shared returns the value for key, one for each runner. fresh is that value if there is none. The
// runner calls the value's methods with its lock, so they must not block.
func (v View) Shared(key any, fresh func() Shared) Shared {
	r := v.delivery.runner
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.shared[key] == nil {
		if r.shared == nil {
			r.shared = map[any]Shared{}
		}
		r.shared[key] = fresh()
	}
	return r.shared[key]
}

// Joined makes the runner check whether more records can join those that wait.
func (v View) Joined() {
	v.whileRunning(func(r *Runner, _ *Delivery) { r.checkIdle() })
}

// More reports whether further records may be added.
func (v View) More() bool { return !v.delivery.runner.closed }

// LastAttempt reports whether SQS gives up on the record after this delivery. On Lambda it
// may ask SQS, which takes one second at most.
func (v View) LastAttempt() bool {
	last := v.delivery.runner.options.LastAttempt
	return last != nil && last(v.delivery.Record)
}

// HiddenFor returns for how long SQS hides the record from others, unless a heartbeat extends
// that. It is 0 on Lambda, where nothing does.
func (v View) HiddenFor() (left time.Duration) {
	v.whileRunning(func(_ *Runner, d *Delivery) {
		if !d.HiddenUntil.IsZero() {
			left = time.Until(d.HiddenUntil)
		}
	})
	return left
}

// Warn notifies the hooks of a warning about the record whose context ctx is. It does nothing
// if ctx is not from a runner.
func Warn(ctx context.Context, w batch.Warning) {
	if v, ok := From(ctx); ok {
		d := v.delivery
		w.MessageID, w.Queue = d.Record.MessageID, batch.QueueName(d.Record.QueueARN)
		d.runner.Hooks.Warn(ctx, w)
	}
}

// Config returns the configuration of the runner.
func (v View) Config() Config { return v.delivery.runner.cfg }

// Permanent reports whether no retry can fix an error, according to the error itself or to
// Config.Classify.
func (v View) Permanent(err error) bool {
	d := v.delivery
	return batch.VerdictOf(d.runner.classify((*recordContext)(d), err)).Permanent
}

// Next finishes the record as a success, and begins the next one of [View.Behind], which was handled
// together with it, however little time is left. The handler's error is then that record's. Next
// returns the record's context; ok is false if the record was taken back, or if nothing waits for
// the handler any more. Call it on the handler's goroutine.
func (v View) Next() (ctx context.Context, ok bool) {
	if next := v.delivery.runner.next(v.delivery); next != nil {
		return (*recordContext)(next), true
	}
	return nil, false
}
