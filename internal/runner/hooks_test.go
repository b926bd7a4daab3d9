package runner_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/test/testhooks"

	"github.com/sqsbatch/sqsbatch/batch"
)

// onStart and onFinish are hooks of one function.
type (
	onStart  func(context.Context, *batch.Record)
	onFinish func(context.Context, batch.Result)
)

func (f onStart) RecordContext(ctx context.Context, r *batch.Record) context.Context {
	f(ctx, r)
	return ctx
}
func (f onFinish) RecordFinished(ctx context.Context, r batch.Result) { f(ctx, r) }

func TestHooksAreGivenTheirRecordsContext(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	hook := onFinish(func(ctx context.Context, r batch.Result) {
		mu.Lock()
		defer mu.Unlock()
		record, _ := batch.RecordFrom(ctx)
		seen = append(seen, fmt.Sprint(r.Record.MessageID, " ", r.Outcome, " in the context of ", record.MessageID))
	})
	invoke(t, 0, fifo("a", "a", "a"), config{Hooks: testhooks.Of(hook)}, func(context.Context, batch.Record) error { return errors.New("no") })
	want := []string{"m-0 retry in the context of m-0", "m-1 skipped in the context of m-1", "m-2 skipped in the context of m-2"}
	if !slices.Equal(seen, want) {
		t.Errorf("%q, want %q", seen, want)
	}
}

func TestAHookThatBlocksDoesNotCostTheResponse(t *testing.T) {
	for name, handle := range map[string]batch.HandlerFunc{
		"after a success":      func(context.Context, batch.Record) error { return nil },
		"after an abandonment": func(ctx context.Context, _ batch.Record) error { return wait(ctx, time.Minute, false) },
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				var warned recorder
				hook := onFinish(func(context.Context, batch.Result) { time.Sleep(100 * time.Millisecond); time.Sleep(time.Minute) })
				begin := time.Now()
				invoke(t, 10*time.Second, standard(30), config{Concurrency: 30, Hooks: testhooks.Of(hook, &onlyWarnings{&warned})}, handle)
				if took := time.Since(begin); took > 9750*time.Millisecond {
					t.Errorf("took %v of 10s", took)
				}
				if len(warned.warnings) != 1 || !strings.Contains(warned.warnings[0].Message, "hooks must not block") || warned.warnings[0].Queue != "orders" {
					t.Errorf("warned %+v", warned.warnings)
				}
				time.Sleep(3 * time.Hour)
			})
		})
	}
}

type onWarning func(batch.Warning)

func (f onWarning) Warned(_ context.Context, w batch.Warning) { f(w) }

// Nor does one for warnings that blocks, of what is warned of at the end of a batch.
func TestAWarningHookThatBlocksDoesNotCostTheResponse(t *testing.T) {
	for name, c := range map[string]struct {
		within time.Duration // the batch's time, of which the last fortieth is the response's
		hook   any
		warns  string
	}{
		"a hook still runs":     {10 * time.Second, onFinish(func(context.Context, batch.Result) { time.Sleep(time.Minute) }), "a RecordFinished hook still runs"},
		"no record was started": {30 * time.Millisecond, nil, "no record was started"},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				told := make(chan string, 10)
				hooks := []any{onWarning(func(w batch.Warning) { told <- w.Message; time.Sleep(time.Hour) })}
				if c.hook != nil {
					hooks = append(hooks, c.hook)
				}
				begin := time.Now()
				invoke(t, c.within, standard(1), config{Hooks: testhooks.Of(hooks...)}, func(context.Context, batch.Record) error {
					return nil
				})
				if took := time.Since(begin); took > c.within-c.within/40 {
					t.Errorf("took %v of %v", took, c.within)
				}
				synctest.Wait()
				if len(told) != 1 || !strings.Contains(<-told, c.warns) {
					t.Errorf("%d warnings more, want one: %s", len(told), c.warns)
				}
				time.Sleep(3 * time.Hour)
			})
		})
	}
}

type onlyWarnings struct{ r *recorder }

func (o *onlyWarnings) Warned(ctx context.Context, w batch.Warning) { o.r.Warned(ctx, w) }

func TestASlowHookCannotGiveARecordTwoOutcomes(t *testing.T) {
	// At the cutoff the hooks are notified of what was abandoned while the timers
	// of the records' own deadlines still fire.
	virtual(t, func(t *testing.T) {
		hook := onFinish(func(context.Context, batch.Result) { time.Sleep(200 * time.Millisecond) })
		cfg := config{Concurrency: 3, RecordTimeout: 17600 * time.Millisecond, Hooks: testhooks.Of(hook)}
		results := invoke(t, 20*time.Second, standard(3), cfg, func(ctx context.Context, _ batch.Record) error {
			return wait(ctx, 30*time.Second, false)
		})
		want := []batch.Outcome{batch.Abandoned, batch.Abandoned, batch.Abandoned}
		if got := outcomes(results); !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
		time.Sleep(time.Hour)
		if got := outcomes(results); !slices.Equal(got, want) {
			t.Errorf("became %v", got)
		}
	})
}

func TestGoexitInWhatUsersSupply(t *testing.T) {
	for name, cfg := range map[string]config{
		"RecordContext":  {Hooks: testhooks.Of(onStart(func(context.Context, *batch.Record) { runtime.Goexit() }))},
		"RecordFinished": {Hooks: testhooks.Of(onFinish(func(context.Context, batch.Result) { runtime.Goexit() }))},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				results := invoke(t, 3*time.Second, standard(3), cfg, func(context.Context, batch.Record) error { return nil })
				for _, r := range results {
					if r.Outcome == batch.Pending {
						t.Errorf("%s has no outcome", r.Record.MessageID)
					}
				}
			})
		})
	}
}

// A hook that ends the goroutine for a record behind another one fails that record.
func TestGoexitInRecordContextBehind_FailsOnlyThatRecord(t *testing.T) {
	virtual(t, func(t *testing.T) {
		cfg := config{Hooks: testhooks.Of(onStart(func(_ context.Context, r *batch.Record) {
			if r.MessageID == "m-1" {
				runtime.Goexit()
			}
		}))}
		results := invoke(t, 3*time.Second, fifo("a", "a", "b"), cfg, func(ctx context.Context, _ batch.Record) error {
			if v, ok := runner.From(ctx); ok && len(v.Behind(1)) == 1 {
				v.Next()
			}
			return nil
		})
		if got, want := outcomes(results), []batch.Outcome{batch.Succeeded, batch.Retry, batch.Succeeded}; !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	})
}

func TestStartHookOutlastsBatch_HandlerIsNotCalled(t *testing.T) {
	virtual(t, func(t *testing.T) {
		var called atomic.Bool
		hook := onStart(func(context.Context, *batch.Record) { time.Sleep(20 * time.Second) })
		invoke(t, 10*time.Second, standard(1), config{Hooks: testhooks.Of(hook)}, func(context.Context, batch.Record) error {
			called.Store(true)
			return nil
		})
		time.Sleep(time.Hour)
		if called.Load() {
			t.Error("the handler was called after the batch was over")
		}
	})
}

// badError's methods panic on a nil pointer, as those of many errors do.
type badError struct{ err error }

func (e *badError) Error() string { return e.err.Error() }
func (e *badError) Unwrap() error { return e.err }

func TestErrorMethodsPanic_RecordIsRetried(t *testing.T) {
	var bad *badError
	for name, handle := range map[string]batch.HandlerFunc{
		"returned":           func(context.Context, batch.Record) error { return bad },
		"returned permanent": func(context.Context, batch.Record) error { return batch.Permanent(bad) },
		"panicked with":      func(context.Context, batch.Record) error { panic(bad) },
	} {
		results := invoke(t, 0, standard(1), config{}, handle)
		var panicked *batch.PanicError
		if results[0].Outcome != batch.Retry || !errors.As(results[0].Err, &panicked) || batch.VerdictOf(results[0].Err).Permanent || results[0].Err.Error() == "" {
			t.Errorf("%s: %v (%v)", name, results[0].Outcome, results[0].Err)
		}
	}
}

func TestAHookThatPanicsIsToldOfItsQueue(t *testing.T) {
	var warned recorder
	hook := onStart(func(context.Context, *batch.Record) { panic("oops") })
	invoke(t, 0, standard(1), config{Hooks: testhooks.Of(hook, &onlyWarnings{&warned})}, func(context.Context, batch.Record) error { return nil })
	if len(warned.warnings) != 1 || warned.warnings[0].Queue != "orders" {
		t.Errorf("warned %+v", warned.warnings)
	}
}

func TestQueueName(t *testing.T) {
	for queue, want := range map[string]string{
		"arn:aws:sqs:eu-west-1:123456789012:orders.fifo":          "orders.fifo",
		"https://sqs.eu-west-1.amazonaws.com/123456789012/orders": "orders",
		"http://127.0.0.1:9324/000000000000/orders/":              "orders",
		"orders": "orders", "": "", "/": "",
	} {
		if got := batch.QueueName(queue); got != want {
			t.Errorf("QueueName(%q) = %q, want %q", queue, got, want)
		}
	}
}
