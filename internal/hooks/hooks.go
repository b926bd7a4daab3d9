// Package hooks calls hooks; package batch describes each of them. It catches panics of
// hooks.
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

	// What at least one hook implements. Callers prepare nothing for the rest.
	Batches  bool // BatchStarted or BatchContext
	Contexts bool // RecordContext
	Starts   bool // RecordStarted or RecordContext
	Outcomes bool // RecordFinished
	Calls    bool // Called
	Flushes  bool // Flush
}

// New returns the set of hooks. Its error names each hook that implements no hook
// interface, or whose method Validate() error returns an error: a hook made in a literal is
// validated here.
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
			errs = append(errs, fmt.Errorf("batch: Hooks[%d] is a %T, which implements no hook interface (see batch.BatchStartedHook)", i, hook))
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

// each calls, one after another, the hooks that implement T. A panic is reported to the
// warning hooks, as a warning about the queue with an ARN. So is a hook that ends its goroutine
// by runtime.Goexit; the hooks after it are called before the goroutine ends.
func each[T any](ctx context.Context, h *Set, arn string, call func(T)) {
	eachOf(ctx, h, arn, h.hooks, call)
}

func eachOf[T any](ctx context.Context, report *Set, arn string, hooks []any, call func(T)) {
	for i, hook := range hooks {
		if hook, ok := hook.(T); ok {
			contain(ctx, report, arn, hook, call, func() { eachOf(ctx, report, arn, hooks[i+1:], call) })
		}
	}
}

// contain calls a hook. rest is called if the hook ends its goroutine.
func contain[T any](ctx context.Context, report *Set, arn string, hook T, call func(T), rest func()) {
	returned := false
	defer func() {
		if returned {
			return
		}
		w := batch.Warning{Queue: batch.QueueName(arn)}
		if v := recover(); v != nil {
			w.Message, w.Err = fmt.Sprintf("a hook of type %T panicked", hook), &batch.PanicError{Value: v, Stack: debug.Stack()}
			report.Warn(ctx, w)
			return
		}
		w.Message = fmt.Sprintf("a hook of type %T ended its goroutine by runtime.Goexit, as testing.T.FailNow does", hook)
		report.Warn(ctx, w)
		rest()
	}()
	call(hook)
	returned = true
}

// Warn passes a warning to the hooks. Their panics are caught and not reported.
func (h *Set) Warn(ctx context.Context, w batch.Warning) {
	eachOf(ctx, &Set{}, "", h.hooks, func(hook batch.WarningHook) { hook.Warned(ctx, w) })
}

// BatchStarted calls the hooks when a batch begins.
func (h *Set) BatchStarted(ctx context.Context, b batch.BatchInfo) {
	each(ctx, h, b.QueueARN, func(hook batch.BatchStartedHook) { hook.BatchStarted(ctx, b) })
}

// BatchSettled calls the hooks when a batch is over.
func (h *Set) BatchSettled(ctx context.Context, b batch.BatchInfo, results []batch.Result) {
	each(ctx, h, b.QueueARN, func(hook batch.BatchSettledHook) { hook.BatchSettled(ctx, b, results) })
}

// RecordStarted calls the hooks just before a record's handler is called.
func (h *Set) RecordStarted(ctx context.Context, r *batch.Record) {
	each(ctx, h, r.QueueARN, func(hook batch.RecordStartedHook) { hook.RecordStarted(ctx, r) })
}

// RecordFinished calls the hooks with a record's outcome.
func (h *Set) RecordFinished(ctx context.Context, r batch.Result) {
	each(ctx, h, r.Record.QueueARN, func(hook batch.RecordFinishedHook) { hook.RecordFinished(ctx, r) })
}

// Called calls the hooks after a call to SQS.
func (h *Set) Called(ctx context.Context, c batch.Call) {
	each(ctx, h, c.QueueARN, func(hook batch.CallHook) { hook.Called(ctx, c) })
}

// Polling calls the hooks when a long poll begins.
func (h *Set) Polling(ctx context.Context, queueARN string, load func() batch.Load) {
	each(ctx, h, queueARN, func(hook batch.PollHook) { hook.Polling(ctx, queueARN, load) })
}

// BatchContext returns the context of a batch with the values that the hooks add; ctx if
// there are none. It ends when ctx does.
func (h *Set) BatchContext(ctx context.Context, b batch.BatchInfo, records []batch.Record) context.Context {
	values := ctx
	each(ctx, h, b.QueueARN, func(hook batch.BatchContextHook) {
		if got := hook.BatchContext(values, b, records); got != nil {
			values = got
		}
	})
	return withValues{ctx, values}
}

// RecordContext returns a context with the values that the hooks add for a record. ctx is
// the record's context, and values is where the hooks begin; values is returned if they add
// none.
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

// Flush calls the Flush hooks concurrently, and returns when they have returned or ctx
// ends.
func (h *Set) Flush(ctx context.Context) {
	var all sync.WaitGroup
	for _, hook := range h.hooks {
		if hook, ok := hook.(batch.FlushHook); ok {
			all.Go(func() { contain(ctx, h, "", hook, func(batch.FlushHook) { hook.Flush(ctx) }, func() {}) })
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
		h.Warn(ctx, batch.Warning{Message: fmt.Sprintf("a Flush hook took too long, and the program goes on without it: %v", context.Cause(ctx))})
	}
}
