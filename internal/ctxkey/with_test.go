package ctxkey_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/ctxkey"
	"github.com/sqsbatch/sqsbatch/internal/hooks"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type key struct{}

// inRecord calls f with the context of a record, as the engine makes it; it
// ends after a minute.
func inRecord(t *testing.T, f func(ctx context.Context)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		e := runner.New(batch.HandlerFunc(func(ctx context.Context, _ batch.Record) error {
			f(ctx)
			return nil
		}), runner.Config{RecordTimeout: time.Minute}, &hooks.Set{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		e.Run(ctx, []batch.Record{{MessageID: "m-1"}}, runner.Options{Times: e.Times(ctx)})
	})
}

func TestADerivedContextStartsNoGoroutine(t *testing.T) {
	withValue := func(ctx context.Context) context.Context { return context.WithValue(ctx, key{}, 1) }
	with := func(ctx context.Context) context.Context { return ctxkey.With(ctx, key{}, 1) }
	withRecord := func(ctx context.Context) context.Context { return batch.WithRecord(ctx, batch.Record{}) }
	for name, c := range map[string]struct {
		derive []func(context.Context) context.Context
		want   int
	}{
		"the record's own":  {nil, 0},
		"With":              {[]func(context.Context) context.Context{with}, 0},
		"With twice":        {[]func(context.Context) context.Context{with, with}, 0},
		"batch.WithRecord":  {[]func(context.Context) context.Context{withRecord, with}, 0},
		"context.WithValue": {[]func(context.Context) context.Context{withValue}, 1}, // what With is for
	} {
		t.Run(name, func(t *testing.T) {
			inRecord(t, func(ctx context.Context) {
				for _, derive := range c.derive {
					ctx = derive(ctx)
				}
				before := runtime.NumGoroutine()
				_, cancel := context.WithTimeout(ctx, time.Second)
				if got := runtime.NumGoroutine() - before; got != c.want {
					t.Errorf("%d goroutines more, want %d", got, c.want)
				}
				cancel()
				synctest.Wait()
			})
		})
	}
}

func TestADerivedContextEndsWithTheRecord(t *testing.T) {
	inRecord(t, func(ctx context.Context) {
		derived, cancel := context.WithTimeout(ctxkey.With(ctx, key{}, 1), time.Hour)
		defer cancel()
		began := time.Now()
		<-derived.Done()
		if passed := time.Since(began); passed != time.Minute || !errors.Is(derived.Err(), context.DeadlineExceeded) {
			t.Errorf("ended after %v with %v", passed, derived.Err())
		}
	})
}

func TestValues(t *testing.T) {
	type other struct{}
	check := func(ctx context.Context) {
		ctx = ctxkey.With(ctxkey.With(ctxkey.With(ctx, other{}, "first"), key{}, 1), key{}, 2)
		if ctx.Value(key{}) != 2 || ctx.Value(other{}) != "first" || ctx.Value("none") != nil {
			t.Errorf("got %v, %v and %v", ctx.Value(key{}), ctx.Value(other{}), ctx.Value("none"))
		}
	}
	inRecord(t, check)
	check(t.Context())
}
