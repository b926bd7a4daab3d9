package breaker_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sony/gobreaker/v2"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/classify/httpstatus"
	"github.com/sqsbatch/sqsbatch/middleware/breaker"
)

func TestWhatCounts(t *testing.T) {
	gone := &httpstatus.Error{Status: 410}
	hang := func(d time.Duration) func(context.Context) error {
		return func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, d)
			defer cancel()
			<-ctx.Done()
			return ctx.Err()
		}
	}
	for name, c := range map[string]struct {
		do      func(context.Context) error
		options breaker.Options
		fails   bool
	}{
		"an error":                          {fails, breaker.Options{}, true},
		"RetryAfter":                        {func(context.Context) error { return batch.RetryAfter(time.Minute, errDown) }, breaker.Options{}, true},
		"Abort":                             {func(context.Context) error { return batch.Abort(time.Minute, errDown) }, breaker.Options{}, true},
		"Permanent":                         {func(context.Context) error { return fmt.Errorf("a: %w", batch.Permanent(errDown)) }, breaker.Options{}, false},
		"malformed":                         {func(context.Context) error { return &batch.MalformedError{} }, breaker.Options{}, false},
		"410 without a classifier":          {func(context.Context) error { return gone }, breaker.Options{}, true},
		"410":                               {func(context.Context) error { return gone }, breaker.Options{Classify: httpstatus.Classify}, false},
		"a classifier that says nothing":    {fails, breaker.Options{Classify: func(err error) error { return err }}, true},
		"a classifier that loses the error": {fails, breaker.Options{Classify: func(error) error { return nil }}, true},
		"the handler's own timeout":         {hang(time.Second), breaker.Options{}, true},
		"the record's time":                 {hang(time.Hour), breaker.Options{}, true},
		"the record's time, by choice":      {hang(time.Hour), breaker.Options{Hang: 61 * time.Second}, false},
		"the record's time, never":          {hang(time.Hour), breaker.Options{Hang: -1}, false},
		"a success that came too late":      {func(ctx context.Context) error { <-ctx.Done(); time.Sleep(time.Nanosecond); return nil }, breaker.Options{}, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			d := newDependency(t, gobreaker.Settings{}, c.options)
			for range 3 {
				_ = d.handle(c.do)
				synctest.Wait()
			}
			if (d.state == gobreaker.StateOpen) != c.fails {
				t.Errorf("%s: it is %v", name, d.state)
			}
		})
	}
}

// What says nothing of the dependency does not break a row of failures either.
func TestExcludedRecordsAreNoSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDependency(t, gobreaker.Settings{}, breaker.Options{})
		_ = d.handle(fails)
		_ = d.handle(func(context.Context) error { return batch.Permanent(nil) })
		_ = d.handle(fails)
		if d.state != gobreaker.StateOpen {
			t.Errorf("it is %v", d.state)
		}
	})
}

func TestACutIsNoFailure(t *testing.T) {
	for name, end := range map[string]func(context.Context) (context.Context, context.CancelFunc){
		"a stop": context.WithCancel,
		"little time was left": func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 4*time.Second)
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			d := newDependency(t, gobreaker.Settings{}, breaker.Options{})
			d.do = func(ctx context.Context) error { <-ctx.Done(); return errDown }
			for range 3 {
				ctx, cancel := end(t.Context())
				if name == "a stop" {
					time.AfterFunc(time.Minute, cancel)
				}
				if err := d.h.Handle(ctx, batch.Record{}); err != errDown {
					t.Errorf("%s: %v", name, err)
				}
				cancel()
			}
			if d.state != gobreaker.StateClosed {
				t.Errorf("%s: it is %v", name, d.state)
			}
		})
	}
}

// broken is an error whose methods panic when it is a nil pointer.
type broken struct{ err error }

func (b *broken) Error() string { return "broken" }
func (b *broken) Unwrap() error { return b.err }

// A trial is counted whatever the functions do that judge it: else the breaker
// would be half-open forever, and send every record back.
func TestATrialIsCountedInAnyCase(t *testing.T) {
	oops := func(error) bool { panic("oops") }
	for name, c := range map[string]struct {
		settings gobreaker.Settings
		options  breaker.Options
		err      error
	}{
		"an error that is a nil pointer": {err: (*broken)(nil)},
		"Classify panics":                {options: breaker.Options{Classify: func(error) error { panic("oops") }}, err: errDown},
		"IsSuccessful panics":            {settings: gobreaker.Settings{IsSuccessful: oops}, err: errDown},
		"IsExcluded panics":              {settings: gobreaker.Settings{IsExcluded: oops}, err: errDown},
	} {
		for how, after := range map[string]time.Duration{"returned": 0, "hangs": time.Hour} {
			synctest.Test(t, func(t *testing.T) {
				d := newDependency(t, c.settings, c.options)
				d.open()
				time.Sleep(time.Minute + 1)
				err := d.handle(func(ctx context.Context) error {
					if after > 0 {
						<-ctx.Done()
						synctest.Wait()
					}
					return c.err
				})
				if err != c.err || d.state != gobreaker.StateOpen {
					t.Errorf("%s, %s: %v, and it is %v", name, how, err, d.state)
				}
			})
		}
	}
}
