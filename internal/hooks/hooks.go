// Package hooks calls hooks: see package batch, which says what they are told. One that
// panics is contained.
package hooks

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/wrapped"
)

// Set is hooks, sorted by what they want to be told. The zero value has none.
type Set struct {
	batchStarted   []batch.BatchStartedHook
	batchSettled   []batch.BatchSettledHook
	recordStarted  []batch.RecordStartedHook
	recordFinished []batch.RecordFinishedHook
	warned         []batch.WarningHook
	batchContext   []batch.BatchContextHook
	recordContexts []batch.RecordContextHook
	called         []batch.CallHook
	polling        []batch.PollHook
	flush          []batch.FlushHook
}

// New sorts hooks. It returns an error that names each which has none of
// the methods of a hook, or whose method Validate() error returns one: what was
// made in one line is validated here.
func New(hooks ...any) (*Set, error) {
	h := &Set{}
	var errs []error
	for i, hook := range hooks {
		if err := wrapped.Validate(hook); err != nil {
			errs = append(errs, fmt.Errorf("batch: Hooks[%d]: %w", i, err))
		}
		n := collect(&h.batchStarted, hook) + collect(&h.batchSettled, hook) +
			collect(&h.recordStarted, hook) + collect(&h.recordFinished, hook) + collect(&h.warned, hook) +
			collect(&h.batchContext, hook) + collect(&h.recordContexts, hook) +
			collect(&h.called, hook) + collect(&h.polling, hook) + collect(&h.flush, hook)
		if n == 0 {
			errs = append(errs, fmt.Errorf("batch: Hooks[%d] is a %T, which has none of the hooks' methods (see batch.BatchStartedHook)", i, hook))
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return h, nil
}

func collect[T any](to *[]T, hook any) int {
	if h, ok := hook.(T); ok {
		*to = append(*to, h)
		return 1
	}
	return 0
}

// BatchStarted tells the hooks that a batch begins.
func (h *Set) BatchStarted(ctx context.Context, b batch.BatchInfo) {
	each(ctx, h, b.QueueARN, h.batchStarted, func(hook batch.BatchStartedHook) { hook.BatchStarted(ctx, b) })
}

// BatchSettled tells the hooks that a batch is over.
func (h *Set) BatchSettled(ctx context.Context, b batch.BatchInfo, results []batch.Result) {
	each(ctx, h, b.QueueARN, h.batchSettled, func(hook batch.BatchSettledHook) { hook.BatchSettled(ctx, b, results) })
}

// Warn tells the hooks of a warning.
func (h *Set) Warn(ctx context.Context, w batch.Warning) {
	each(ctx, nil, "", h.warned, func(hook batch.WarningHook) { hook.Warned(ctx, w) })
}

// WantsBatch reports whether a hook is told, or asked, when a batch begins.
func (h *Set) WantsBatch() bool { return len(h.batchStarted)+len(h.batchContext) > 0 }

// WantsStarted reports whether a hook is told, or asked, before a handler is called.
func (h *Set) WantsStarted() bool { return len(h.recordStarted)+len(h.recordContexts) > 0 }

// RecordStarted tells the hooks that a record's handler is about to be called.
func (h *Set) RecordStarted(ctx context.Context, r *batch.Record) {
	each(ctx, h, r.QueueARN, h.recordStarted, func(hook batch.RecordStartedHook) { hook.RecordStarted(ctx, r) })
}

// WantsFinished reports whether a hook is told of records' outcomes.
func (h *Set) WantsFinished() bool { return len(h.recordFinished) > 0 }

// RecordFinished tells the hooks of a record's outcome.
func (h *Set) RecordFinished(ctx context.Context, r batch.Result) {
	each(ctx, h, r.Record.QueueARN, h.recordFinished, func(hook batch.RecordFinishedHook) { hook.RecordFinished(ctx, r) })
}

// each calls the hooks one by one; what a hook panics with goes to report's
// warnings, as something about the queue with an ARN.
func each[T any](ctx context.Context, report *Set, arn string, hooks []T, call func(T)) {
	for _, hook := range hooks {
		func() {
			defer func() {
				if v := recover(); v != nil && report != nil {
					report.Warn(ctx, hookPanicked(hook, arn, &batch.PanicError{Value: v, Stack: debug.Stack()}))
				}
			}()
			call(hook)
		}()
	}
}

func hookPanicked(hook any, arn string, err *batch.PanicError) batch.Warning {
	return batch.Warning{Queue: batch.QueueName(arn), Message: fmt.Sprintf("a hook of type %T panicked", hook), Err: err}
}

// BatchContext asks the hooks for the context of a batch; without a hook for
// that it is ctx. The end of what it returns is ctx's.
func (h *Set) BatchContext(ctx context.Context, b batch.BatchInfo, records []batch.Record) context.Context {
	if len(h.batchContext) == 0 {
		return ctx
	}
	values := ctx
	each(ctx, h, b.QueueARN, h.batchContext, func(hook batch.BatchContextHook) {
		if got := hook.BatchContext(values, b, records); got != nil {
			values = got
		}
	})
	return withValues{ctx, values}
}

// WantsRecordContext reports whether a hook is asked for contexts of records.
func (h *Set) WantsRecordContext() bool { return len(h.recordContexts) > 0 }

// RecordContext asks the hooks for the values of a record's context ctx, which has
// those of values; it is values without a hook for that.
func (h *Set) RecordContext(ctx, values context.Context, r *batch.Record) context.Context {
	for _, hook := range h.recordContexts {
		values = h.askRecordContext(ctx, hook, values, r)
	}
	return values
}

// askRecordContext is [each], for one hook: records are many.
func (h *Set) askRecordContext(ctx context.Context, hook batch.RecordContextHook, values context.Context, r *batch.Record) (got context.Context) {
	defer func() {
		if v := recover(); v != nil {
			h.Warn(ctx, hookPanicked(hook, r.QueueARN, &batch.PanicError{Value: v, Stack: debug.Stack()}))
		}
		if got == nil {
			got = values
		}
	}()
	return hook.RecordContext(values, r)
}

// withValues is a context with the values of another.
type withValues struct {
	context.Context
	values context.Context
}

func (c withValues) Value(key any) any { return c.values.Value(key) }

// Flushes reports whether a hook keeps something back.
func (h *Set) Flushes() bool { return len(h.flush) > 0 }

// Flush has the hooks write what they keep back, side by side, and returns when
// they have, or when ctx ends.
func (h *Set) Flush(ctx context.Context) {
	if !h.Flushes() {
		return
	}
	done := make(chan struct{}, len(h.flush))
	for i := range h.flush {
		go func() {
			defer func() { done <- struct{}{} }()
			each(ctx, h, "", h.flush[i:i+1], func(hook batch.FlushHook) { hook.Flush(ctx) })
		}()
	}
	for range h.flush {
		select {
		case <-done:
		case <-ctx.Done():
			select {
			case <-done: // at the same moment
				continue
			default:
			}
			h.Warn(ctx, batch.Warning{Message: fmt.Sprintf("a Flush hook is not waited for any longer: %v", context.Cause(ctx))})
			return
		}
	}
}

// Called tells the hooks of a call to SQS.
func (h *Set) Called(ctx context.Context, c batch.Call) {
	each(ctx, h, c.QueueARN, h.called, func(hook batch.CallHook) { hook.Called(ctx, c) })
}

// WantsCalls reports whether there is a hook for calls: without one, nothing
// needs to be noted of them.
func (h *Set) WantsCalls() bool { return len(h.called) > 0 }

// Polling tells the hooks that a long poll begins.
func (h *Set) Polling(ctx context.Context, queueARN string, load func() batch.Load) {
	each(ctx, h, queueARN, h.polling, func(hook batch.PollHook) { hook.Polling(ctx, queueARN, load) })
}
