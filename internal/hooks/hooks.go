// Package hooks calls hooks; [batch.Hooks] describes each of them. It catches panics of hooks. Callers
// that must not wait for hooks use a [Queue], or [Within].
package hooks

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/sleep"
)

// Set calls the hooks of a configuration. The zero value has none.
type Set struct {
	hooks batch.Hooks

	// Which hooks there are. Callers prepare nothing for the others.
	Batches, Contexts, Outcomes, Calls bool
}

// New returns the set of hooks. It does not call Validate.
func New(h batch.Hooks) *Set {
	return &Set{
		hooks: h, Batches: h.BatchContext != nil, Contexts: h.RecordContext != nil, Outcomes: h.RecordFinished != nil, Calls: h.Called != nil,
	}
}

// contain calls a hook. A panic is reported as a warning about the queue with an ARN.
func (h *Set) contain(ctx context.Context, name, arn string, call func()) {
	defer func() {
		if v := recover(); v != nil {
			p, ok := v.(*batch.PanicError) // of a Flush that JoinHooks called
			if !ok {
				p = &batch.PanicError{Value: v, Stack: debug.Stack()}
			}
			h.Warn(ctx, batch.Warning{Queue: batch.QueueName(arn), Message: "the hook " + name + " panicked", Err: p})
		}
	}()
	call()
}

// Warn passes a warning to the hook. Its panic is caught and not reported.
func (h *Set) Warn(ctx context.Context, w batch.Warning) {
	if h.hooks.Warned != nil {
		defer func() { _ = recover() }()
		h.hooks.Warned(ctx, w)
	}
}

// BatchSettled calls the hook when a batch is over.
func (h *Set) BatchSettled(ctx context.Context, b batch.BatchInfo, results []batch.Result) {
	if f := h.hooks.BatchSettled; f != nil {
		h.contain(ctx, "BatchSettled", b.QueueARN, func() { f(ctx, b, results) })
	}
}

// RecordFinished calls the hook with a record's outcome.
func (h *Set) RecordFinished(ctx context.Context, r batch.Result) {
	if f := h.hooks.RecordFinished; f != nil {
		h.contain(ctx, "RecordFinished", r.Record.QueueARN, func() { f(ctx, r) })
	}
}

// Called calls the hook after a call to SQS.
func (h *Set) Called(ctx context.Context, c batch.Call) {
	if f := h.hooks.Called; f != nil {
		h.contain(ctx, "Called", c.QueueARN, func() { f(ctx, c) })
	}
}

// Polling calls the hook when a long poll begins.
func (h *Set) Polling(ctx context.Context, queueARN string, status func() batch.Status) {
	if f := h.hooks.Polling; f != nil {
		h.contain(ctx, "Polling", queueARN, func() { f(ctx, queueARN, status) })
	}
}

// BatchContext returns the context of a batch with the values that the hook adds. It ends when
// ctx does.
func (h *Set) BatchContext(ctx context.Context, b batch.BatchInfo, records []batch.Record) context.Context {
	values := ctx
	if f := h.hooks.BatchContext; f != nil {
		h.contain(ctx, "BatchContext", b.QueueARN, func() { values = cmp.Or(f(ctx, b, records), values) })
	}
	return withValues{ctx, values}
}

// RecordContext returns a context with the values that the hook adds for a record. ctx is
// the record's context, and values is where the hook begins; values is returned if it adds
// none.
func (h *Set) RecordContext(ctx, values context.Context, r *batch.Record) context.Context {
	if f := h.hooks.RecordContext; f != nil {
		h.contain(ctx, "RecordContext", r.QueueARN, func() { values = cmp.Or(f(values, r), values) })
	}
	return values
}

// withValues is a context with the values of another.
type withValues struct {
	context.Context
	values context.Context
}

func (c withValues) Value(key any) any { return c.values.Value(key) }

// Flush calls the hook, and returns when it has returned or ctx ends.
func (h *Set) Flush(ctx context.Context) {
	if h.hooks.Flush == nil {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.contain(ctx, "Flush", "", func() { h.hooks.Flush(ctx) })
	}()
	if !sleep.Closed(ctx, done) {
		h.Warn(ctx, batch.Warning{Message: fmt.Sprintf("a Flush hook took too long, and the program goes on without it: %v", context.Cause(ctx))})
	}
}
