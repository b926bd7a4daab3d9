package otel

import (
	"context"
	"errors"
	"fmt"

	"github.com/sqsbatch/sqsbatch/batch"
)

// Flush implements batch.FlushHook: it calls Options.Flush and waits until that has
// returned or ctx ends. If an earlier call still runs, all waiting flushes share the next
// call, so that everything made before Flush is in a call that begins after it. If the
// earlier call exceeds its time, nothing is flushed. Errors go to the error handler of
// OpenTelemetry.
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
