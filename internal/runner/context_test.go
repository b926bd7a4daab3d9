package runner_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/runner"
)

type ctxKey struct{}

// inRecord calls f within a record's context in virtual time.
func inRecord(t *testing.T, cfg config, f func(t *testing.T, ctx context.Context) error) batch.Result {
	t.Helper()
	var result batch.Result
	virtual(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), ctxKey{}, "value"), 10*time.Second)
		defer cancel()
		engine := newEngine(t, cfg, func(ctx context.Context, _ batch.Record) error { return f(t, ctx) })
		result = engine.Run(ctx, []batch.Record{{MessageID: "m-0", Attempt: 3}}, runner.Options{Times: engine.Times(ctx)})[0]
	})
	return result
}

func TestContextCarriesRecordAndValues(t *testing.T) {
	inRecord(t, config{}, func(t *testing.T, ctx context.Context) error {
		r, ok := batch.RecordFrom(ctx)
		if !ok || r.MessageID != "m-0" || r.Attempt != 3 {
			t.Errorf("RecordFrom: %+v, %v", r, ok)
		}
		if ctx.Value(ctxKey{}) != "value" {
			t.Error("the invocation's value is lost")
		}
		derived, cancel := context.WithCancel(ctx)
		defer cancel()
		if _, ok := batch.RecordFrom(derived); !ok {
			t.Error("a derived context has no record")
		}
		return nil
	})
	if _, ok := batch.RecordFrom(t.Context()); ok {
		t.Error("a context outside of a batch has a record")
	}
	if r, ok := batch.RecordFrom(batch.WithRecord(t.Context(), batch.Record{MessageID: "x"})); !ok || r.MessageID != "x" {
		t.Error("WithRecord's record is not found")
	}
}

func TestContextEndsAtTheDeadline(t *testing.T) {
	for name, cfg := range map[string]config{"at the cutoff": {}, "at its own": {RecordTimeout: 3 * time.Second}} {
		t.Run(name, func(t *testing.T) {
			result := inRecord(t, cfg, func(t *testing.T, ctx context.Context) error {
				deadline, _ := ctx.Deadline()
				derived, cancel := context.WithTimeout(ctx, time.Hour)
				defer cancel()
				called := make(chan struct{})
				context.AfterFunc(ctx, func() { close(called) })
				stopped := context.AfterFunc(ctx, func() { t.Error("called after it was stopped") })
				if !stopped() || stopped() {
					t.Error("stop reports true once")
				}
				if ctx.Err() != nil {
					t.Errorf("ended too early: %v", ctx.Err())
				}
				<-derived.Done()
				<-ctx.Done()
				<-called
				if !time.Now().Equal(deadline) {
					t.Errorf("ended at %v, want %v", time.Now(), deadline)
				}
				if !errors.Is(derived.Err(), context.DeadlineExceeded) || !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
					t.Errorf("derived: %v, cause: %v", derived.Err(), context.Cause(ctx))
				}
				// What comes too late is called at once.
				late := make(chan struct{})
				context.AfterFunc(ctx, func() { close(late) })
				<-late
				return ctx.Err()
			})
			if !errors.Is(result.Err, context.DeadlineExceeded) {
				t.Errorf("the record's error is %v", result.Err)
			}
		})
	}
}

func TestContextIsCancelledWhenTheHandlerReturns(t *testing.T) {
	virtual(t, func(t *testing.T) {
		var kept, derived context.Context
		var release context.CancelFunc
		defer func() { release() }()
		invoke(t, 10*time.Second, standard(1), config{}, func(ctx context.Context, _ batch.Record) error {
			kept = ctx
			derived, release = context.WithTimeout(ctx, time.Hour)
			return nil
		})
		<-derived.Done()
		if !errors.Is(kept.Err(), context.Canceled) || !errors.Is(derived.Err(), context.Canceled) {
			t.Errorf("after the handler: %v, derived %v", kept.Err(), derived.Err())
		}
	})
}
