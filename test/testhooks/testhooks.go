// Package testhooks makes hooks of a test's own types.
package testhooks

import (
	"context"

	"github.com/sqsbatch/sqsbatch/batch"
)

// Of returns hooks that call the methods of values with the names of the hooks. A value may
// also be a batch.Hooks, or have a method Hooks that returns one.
func Of(values ...any) batch.Hooks {
	var list []batch.Hooks
	for _, v := range values {
		switch v := v.(type) {
		case batch.Hooks:
			list = append(list, v)
		case interface{ Hooks() batch.Hooks }:
			list = append(list, v.Hooks())
		default:
			list = append(list, methods(v))
		}
	}
	return batch.JoinHooks(list...)
}

func methods(v any) (h batch.Hooks) {
	if v, ok := v.(interface {
		BatchContext(context.Context, batch.BatchInfo, []batch.Record) context.Context
	}); ok {
		h.BatchContext = v.BatchContext
	}
	if v, ok := v.(interface {
		RecordContext(context.Context, *batch.Record) context.Context
	}); ok {
		h.RecordContext = v.RecordContext
	}
	if v, ok := v.(interface {
		RecordFinished(context.Context, batch.Result)
	}); ok {
		h.RecordFinished = v.RecordFinished
	}
	if v, ok := v.(interface {
		BatchSettled(context.Context, batch.BatchInfo, []batch.Result)
	}); ok {
		h.BatchSettled = v.BatchSettled
	}
	if v, ok := v.(interface {
		Called(context.Context, batch.Call)
	}); ok {
		h.Called = v.Called
	}
	if v, ok := v.(interface {
		Polling(context.Context, string, func() batch.Status)
	}); ok {
		h.Polling = v.Polling
	}
	if v, ok := v.(interface {
		Warned(context.Context, batch.Warning)
	}); ok {
		h.Warned = v.Warned
	}
	if v, ok := v.(interface{ Flush(context.Context) }); ok {
		h.Flush = v.Flush
	}
	if v, ok := v.(interface{ Validate() error }); ok {
		h.Validate = v.Validate
	}
	return h
}
