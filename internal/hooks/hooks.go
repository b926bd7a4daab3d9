// Package hooks calls hooks: see package batch, which says what they are told. One that
// panics is contained.
package hooks

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/wrapped"
)

// Set is the hooks of a configuration. The zero value has none.
type Set struct {
	hooks []any

	// What at least one hook asks for. Callers prepare nothing for the others.
	Batches  bool // BatchStarted or BatchContext
	Contexts bool // RecordContext
	Starts   bool // RecordStarted or RecordContext
	Outcomes bool // RecordFinished
	Calls    bool // Called
	Flushes  bool // Flush
}

// New returns the set of hooks. It returns an error that names each which has none of
// the methods of a hook, or whose method Validate() error returns one: what was
// made in one line is validated here.
func New(hooks ...any) (*Set, error) {
	var errs []error
	for i, hook := range hooks {
		if err := wrapped.Validate(hook); err != nil {
			errs = append(errs, fmt.Errorf("batch: Hooks[%d]: %w", i, err))
		}
		switch hook.(type) {
		case batch.BatchStartedHook, batch.BatchSettledHook, batch.RecordStartedHook, batch.RecordFinishedHook, batch.WarningHook,
			batch.BatchContextHook, batch.RecordContextHook, batch.CallHook, batch.PollHook, batch.FlushHook:
		default:
			errs = append(errs, fmt.Errorf("batch: Hooks[%d] is a %T, which has none of the hooks' methods (see batch.BatchStartedHook)", i, hook))
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	contexts := has[batch.RecordContextHook](hooks)
	return &Set{
		hooks:    hooks,
		Batches:  has[batch.BatchStartedHook](hooks) || has[batch.BatchContextHook](hooks),
		Contexts: contexts,
		Starts:   has[batch.RecordStartedHook](hooks) || contexts,
		Outcomes: has[batch.RecordFinishedHook](hooks),
		Calls:    has[batch.CallHook](hooks),
		Flushes:  has[batch.FlushHook](hooks),
	}, nil
}

func has[T any](hooks []any) bool {
	return slices.ContainsFunc(hooks, func(hook any) bool { _, ok := hook.(T); return ok })
}

// each calls the hooks that have the methods of T, one by one. The warning hooks are told
// what one panics with, as something about the queue with an ARN.
func each[T any](ctx context.Context, h *Set, arn string, call func(T)) {
	for _, hook := range h.hooks {
		if hook, ok := hook.(T); ok {
			contain(ctx, h, arn, hook, call)
		}
	}
}

func contain[T any](ctx context.Context, report *Set, arn string, hook T, call func(T)) {
	defer func() {
		if v := recover(); v != nil {
			report.Warn(ctx, batch.Warning{
				Queue:   batch.QueueName(arn),
				Message: fmt.Sprintf("a hook of type %T panicked", hook),
				Err:     &batch.PanicError{Value: v, Stack: debug.Stack()},
			})
		}
	}()
	call(hook)
}

// Warn tells the hooks of a warning. Nobody is told what they panic with.
func (h *Set) Warn(ctx context.Context, w batch.Warning) {
	for _, hook := range h.hooks {
		if hook, ok := hook.(batch.WarningHook); ok {
			contain(ctx, &Set{}, "", hook, func(batch.WarningHook) { hook.Warned(ctx, w) })
		}
	}
}

// BatchStarted tells the hooks that a batch begins.
func (h *Set) BatchStarted(ctx context.Context, b batch.BatchInfo) {
	each(ctx, h, b.QueueARN, func(hook batch.BatchStartedHook) { hook.BatchStarted(ctx, b) })
}

// BatchSettled tells the hooks that a batch is over.
func (h *Set) BatchSettled(ctx context.Context, b batch.BatchInfo, results []batch.Result) {
	each(ctx, h, b.QueueARN, func(hook batch.BatchSettledHook) { hook.BatchSettled(ctx, b, results) })
}

// RecordStarted tells the hooks that a record's handler is about to be called.
func (h *Set) RecordStarted(ctx context.Context, r *batch.Record) {
	each(ctx, h, r.QueueARN, func(hook batch.RecordStartedHook) { hook.RecordStarted(ctx, r) })
}

// RecordFinished tells the hooks of a record's outcome.
func (h *Set) RecordFinished(ctx context.Context, r batch.Result) {
	each(ctx, h, r.Record.QueueARN, func(hook batch.RecordFinishedHook) { hook.RecordFinished(ctx, r) })
}

// Called tells the hooks of a call to SQS.
func (h *Set) Called(ctx context.Context, c batch.Call) {
	each(ctx, h, c.QueueARN, func(hook batch.CallHook) { hook.Called(ctx, c) })
}

// Polling tells the hooks that a long poll begins.
func (h *Set) Polling(ctx context.Context, queueARN string, load func() batch.Load) {
	each(ctx, h, queueARN, func(hook batch.PollHook) { hook.Polling(ctx, queueARN, load) })
}

// BatchContext asks the hooks for the context of a batch. It is ctx if none answers. The
// end of what it returns is ctx's.
func (h *Set) BatchContext(ctx context.Context, b batch.BatchInfo, records []batch.Record) context.Context {
	values := ctx
	each(ctx, h, b.QueueARN, func(hook batch.BatchContextHook) {
		if got := hook.BatchContext(values, b, records); got != nil {
			values = got
		}
	})
	return withValues{ctx, values}
}

// RecordContext asks the hooks for the values of a record's context ctx, which has
// those of values. It is values if none answers.
func (h *Set) RecordContext(ctx, values context.Context, r *batch.Record) context.Context {
	each(ctx, h, r.QueueARN, func(hook batch.RecordContextHook) {
		if got := hook.RecordContext(values, r); got != nil {
			values = got
		}
	})
	return values
}

// withValues is a context with the values of another.
type withValues struct {
	context.Context
	values context.Context
}

func (c withValues) Value(key any) any { return c.values.Value(key) }

// Flush has the hooks write what they keep back, side by side, and returns when
// they have, or when ctx ends.
func (h *Set) Flush(ctx context.Context) {
	var all sync.WaitGroup
	for _, hook := range h.hooks {
		if hook, ok := hook.(batch.FlushHook); ok {
			all.Go(func() { contain(ctx, h, "", hook, func(batch.FlushHook) { hook.Flush(ctx) }) })
		}
	}
	done := make(chan struct{})
	go func() {
		all.Wait()
		close(done)
	}()
	select {
	case <-done:
		return
	case <-ctx.Done():
	}
	select {
	case <-done: // at the same moment
	default:
		h.Warn(ctx, batch.Warning{Message: fmt.Sprintf("a Flush hook is not waited for any longer: %v", context.Cause(ctx))})
	}
}
