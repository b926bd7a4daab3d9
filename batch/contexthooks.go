package batch

import (
	"context"
	"runtime/debug"
)

// Hooks that give contexts values, so that what a handler does can be told to
// belong to its record: the spans of a trace, a logger with the record's id.
// What they return must be derived from the context that they are given. Only
// its values count: neither its end nor its deadline is heeded.

// BatchContextHook is asked for the context of a batch, before its
// [BatchStartedHook] is told. All that is done for the batch has the values of
// the context that it returns: its handlers, its hooks, and on Lambda the calls
// to SQS that settle it.
type BatchContextHook interface {
	BatchContext(ctx context.Context, b BatchInfo, records []Record) context.Context
}

// RecordContextHook is asked for the context of a record, before its
// [RecordStartedHook] is told. The handler's context, and that of the hooks
// that are told of the record, have the values of the context that it returns.
// When the record is abandoned meanwhile, they are told without.
type RecordContextHook interface {
	RecordContext(ctx context.Context, r *Record) context.Context
}

// BatchContext asks the hooks for the context of a batch; without a hook for
// that it is ctx. The end of what it returns is ctx's.
func (h *Hooks) BatchContext(ctx context.Context, b BatchInfo, records []Record) context.Context {
	if h == nil || len(h.batchContext) == 0 {
		return ctx
	}
	values := ctx
	each(ctx, h, b.QueueARN, h.batchContext, func(hook BatchContextHook) {
		if got := hook.BatchContext(values, b, records); got != nil {
			values = got
		}
	})
	return withValues{ctx, values}
}

// WantsRecordContext reports whether a hook is asked for contexts of records.
func (h *Hooks) WantsRecordContext() bool { return h != nil && len(h.recordContexts) > 0 }

// RecordContext asks the hooks for the values of a record's context ctx, which has
// those of values; it is values without a hook for that.
func (h *Hooks) RecordContext(ctx, values context.Context, r *Record) context.Context {
	for _, hook := range h.recordContexts {
		values = h.askRecordContext(ctx, hook, values, r)
	}
	return values
}

// askRecordContext is [each], for one hook: records are many.
func (h *Hooks) askRecordContext(ctx context.Context, hook RecordContextHook, values context.Context, r *Record) (got context.Context) {
	defer func() {
		if v := recover(); v != nil {
			h.Warn(ctx, hookPanicked(hook, r.QueueARN, &PanicError{Value: v, Stack: debug.Stack()}))
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
