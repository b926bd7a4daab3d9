package otel

import (
	"context"
	"errors"
	"fmt"

	"github.com/sqsbatch/sqsbatch/batch"
)

// Flush implements batch.FlushHook: it calls Options.Flush, and returns when
// that has, or when ctx ends. While an earlier call runs it waits for the next
// one, which all that wait share: whatever was made before Flush is in a call
// that begins after it. When the earlier call has had its time, nothing is
// flushed. Errors go to the error handler of OpenTelemetry.
func (h *Hook) Flush(ctx context.Context) {
	if h.opts.Flush != nil && !h.flushes.Do(ctx) {
		handle(errOverdue)
	}
}

var errOverdue = errors.New("sqsbatch: Options.Flush is not called: an earlier call of it did not return in its time")

// flush calls Options.Flush.
func (h *Hook) flush(ctx context.Context) {
	err := batch.ErrGoexit
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("it panicked: %v", v)
		}
		if err != nil {
			handle(fmt.Errorf("sqsbatch: Options.Flush: %w", err))
		}
	}()
	err = h.opts.Flush(ctx)
}
