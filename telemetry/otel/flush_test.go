package otel_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	otelapi "go.opentelemetry.io/otel"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/telemetry/otel"
)

var _ batch.FlushHook = (*otel.Hook)(nil)

func TestFlush(t *testing.T) {
	const late = "sqsbatch: Options.Flush is not called: an earlier call of it did not return in its time"
	var told []string
	otelapi.SetErrorHandler(otelapi.ErrorHandlerFunc(func(err error) { told = append(told, err.Error()) }))
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		var do func(context.Context) error
		hook := otel.New(otel.Options{Flush: func(ctx context.Context) error {
			calls.Add(1)
			return do(ctx)
		}})
		flush := func(want time.Duration, errs ...string) {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			began := time.Now()
			hook.Flush(ctx)
			if d := time.Since(began); d != want {
				t.Errorf("took %v, want %v", d, want)
			}
			if !slices.Equal(told, errs) {
				t.Errorf("told %q, want %q", told, errs)
			}
			told = nil
		}
		do = func(context.Context) error { time.Sleep(time.Second); return nil }
		flush(time.Second)
		do = func(context.Context) error { return errors.New("no collector") }
		flush(0, "sqsbatch: Options.Flush: no collector")
		do = func(context.Context) error { panic("oops") }
		flush(0, "sqsbatch: Options.Flush: it panicked: oops")
		do = func(context.Context) error { runtime.Goexit(); return nil }
		flush(0, "sqsbatch: Options.Flush: handler called runtime.Goexit")

		// One that does not return costs its time once.
		do = func(context.Context) error { time.Sleep(time.Minute); return nil }
		flush(2 * time.Second)
		flush(0, late)
		flush(0, late)
		time.Sleep(time.Minute)
		synctest.Wait()
		do = func(context.Context) error { time.Sleep(time.Second); return nil }
		flush(time.Second)
		if n := calls.Load(); n != 6 {
			t.Errorf("%d calls", n)
		}

		// Two invocations at a time: the second one's spans are flushed too.
		go hook.Flush(t.Context())
		synctest.Wait()
		flush(2 * time.Second)
		time.Sleep(time.Minute)
	})
}
