package runner_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/internal/runner"
)

func TestChainCallsTheFirstFirst(t *testing.T) {
	var calls []string
	note := func(name string) func(batch.Handler) batch.Handler {
		return func(next batch.Handler) batch.Handler {
			return batch.HandlerFunc(func(ctx context.Context, r batch.Record) error {
				calls = append(calls, name)
				return next.Handle(ctx, r)
			})
		}
	}
	h := batch.Chain(batch.HandlerFunc(func(context.Context, batch.Record) error {
		calls = append(calls, "handler")
		return nil
	}), note("a"), note("b"))
	if err := h.Handle(t.Context(), batch.Record{}); err != nil || !slices.Equal(calls, []string{"a", "b", "handler"}) {
		t.Errorf("called %v, %v", calls, err)
	}
}

// wishing is a handler, or middleware around one, that wants something.
type wishing struct {
	batch.Handler
	records int
	err     error
}

func (w wishing) Concurrency() int { return w.records }
func (w wishing) Validate() error  { return w.err }

// plain is middleware that hides the methods of what it is around.
func plain(next batch.Handler) batch.Handler { return batch.HandlerFunc(next.Handle) }

func TestChainHidesNothing(t *testing.T) {
	done := batch.HandlerFunc(func(context.Context, batch.Record) error { return nil })
	bad := errors.New("MaxItems is -1")
	greedy := func(next batch.Handler) batch.Handler { return wishing{next, 70, nil} }
	wrong := func(next batch.Handler) batch.Handler { return wishing{next, 0, bad} }
	for name, c := range map[string]struct {
		h           batch.Handler
		concurrency int
		err         error
	}{
		"nothing to ask":             {batch.Chain(done, plain, plain), 10, nil},
		"what is innermost":          {batch.Chain(wishing{done, 50, nil}, plain, plain), 50, nil},
		"what is wrong innermost":    {batch.Chain(wishing{done, 50, bad}, plain, plain), 50, bad},
		"the outermost that asks":    {batch.Chain(wishing{done, 50, nil}, plain, greedy, plain), 70, nil},
		"one that asks for nothing":  {batch.Chain(wishing{done, 50, nil}, wrong), 50, bad},
		"what is wrong in between":   {batch.Chain(done, plain, wrong, plain), 10, bad},
		"less than nothing is asked": {batch.Chain(wishing{done, -2, bad}, plain), 10, bad},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (runner.Config{}).WithDefaults(c.h).Concurrency; got != c.concurrency {
				t.Errorf("Concurrency is %d, want %d", got, c.concurrency)
			}
			if _, err := handler.New(c.h, handler.Config{}); fmt.Sprint(err) != fmt.Sprint(c.err) {
				t.Errorf("New: %v, want %v", err, c.err)
			}
		})
	}
}

func TestChainOfNothingIsNothing(t *testing.T) {
	none := func(batch.Handler) batch.Handler { return nil }
	done := batch.HandlerFunc(func(context.Context, batch.Record) error { return nil })
	for name, h := range map[string]batch.Handler{
		"no handler":                  batch.Chain(nil, plain),
		"a nil function":              batch.Chain(batch.HandlerFunc(nil), plain),
		"middleware that returns nil": batch.Chain(wishing{done, 1, nil}, plain, none),
	} {
		if _, err := handler.New(h, handler.Config{}); err == nil || err.Error() != "handler: the handler is nil" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// classifying runs a record whose handler returns err, or panics with it, and
// returns its error.
func classifying(t *testing.T, classify func(error) error, h batch.HandlerFunc) error {
	t.Helper()
	e := newEngine(t, config{Classify: classify}, h)
	results := e.Run(t.Context(), standard(1), runner.Options{})
	return results[0].Err
}

func TestClassify(t *testing.T) {
	boom := errors.New("boom")
	always := func(err error) error { return batch.Permanent(err) }
	fails := func(err error) batch.HandlerFunc {
		return func(context.Context, batch.Record) error { return err }
	}
	if err := classifying(t, always, fails(boom)); !batch.VerdictOf(err).Permanent || !errors.Is(err, boom) {
		t.Errorf("an ordinary error: %v", err)
	}
	if err := classifying(t, always, fails(retryable{boom})); !batch.VerdictOf(err).Permanent {
		t.Errorf("an error with a method: %v", err)
	}
	if err := classifying(t, always, fails(nil)); err != nil {
		t.Errorf("a success: %v", err)
	}
	if err := classifying(t, always, fails(batch.RetryAfter(1, boom))); batch.VerdictOf(err).Permanent {
		t.Errorf("an error with a verb is classified: %v", err)
	}
	if err := classifying(t, always, func(context.Context, batch.Record) error { panic("x") }); batch.VerdictOf(err).Permanent {
		t.Errorf("a panic is classified: %v", err)
	}
	if err := classifying(t, func(error) error { return nil }, fails(boom)); !errors.Is(err, boom) {
		t.Errorf("nil of a classifier makes a success: %v", err)
	}
	if err := classifying(t, func(error) error { panic("oops") }, fails(boom)); !errors.Is(err, boom) || err.Error() != "boom (Classify panicked: oops)" {
		t.Errorf("a classifier that panics: %v", err)
	}
	if err := classifying(t, func(error) error { return (*url.Error)(nil) }, fails(boom)); err == nil {
		t.Error("an error whose methods panic makes a success")
	}
}

// What ends because the record's time is over says nothing about the record.
func TestClassifyIsNotAskedAboutTheEnd(t *testing.T) {
	cfg := config{RecordTimeout: time.Millisecond, Classify: func(err error) error { return batch.Permanent(err) }}
	e := newEngine(t, cfg, func(ctx context.Context, _ batch.Record) error {
		<-ctx.Done()
		return &url.Error{Op: "Get", URL: "x", Err: ctx.Err()}
	})
	if r := e.Run(t.Context(), standard(1), runner.Options{}); batch.VerdictOf(r[0].Err).Permanent || r[0].Err == nil {
		t.Errorf("%v", r[0].Err)
	}
}

// retryable is an error that says by a method what happens to it.
type retryable struct{ error }

func (retryable) Retryable() bool { return true }
