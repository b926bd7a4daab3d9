package runner_test

import (
	"context"
	"errors"
	"net/url"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/runner"
)

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
