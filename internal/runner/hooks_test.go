package runner_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/hooks"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/test/testhooks"
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
		wantOutcomes(t, results, batch.Succeeded, batch.Retry, batch.Succeeded)
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

type key string

// contexts is a hook that gives contexts values, and notes the values of the contexts with which it is called.
type contexts struct {
	recorder
	batchContext  func(context.Context) context.Context
	recordContext func(context.Context, *batch.Record) context.Context

	seenMu sync.Mutex
	seen   []string
}

func (c *contexts) BatchContext(ctx context.Context, b batch.BatchInfo, records []batch.Record) context.Context {
	return c.batchContext(context.WithValue(ctx, key("batch"), fmt.Sprint("batch of ", b.Records, "=", len(records))))
}

func (c *contexts) RecordContext(ctx context.Context, r *batch.Record) context.Context {
	ctx = c.recordContext(context.WithValue(ctx, key("record"), r.MessageID), r)
	if ctx != nil {
		c.saw(ctx, "started")
	}
	return ctx
}

func (c *contexts) saw(ctx context.Context, who string) {
	r, _ := batch.RecordFrom(ctx)
	c.seenMu.Lock()
	defer c.seenMu.Unlock()
	c.seen = append(c.seen, fmt.Sprint(who, " ", ctx.Value(key("batch")), " ", ctx.Value(key("record")), " ", r.MessageID))
}

func (c *contexts) RecordFinished(ctx context.Context, result batch.Result) { c.saw(ctx, "finished") }

func plainContexts() *contexts {
	return &contexts{
		batchContext:  func(ctx context.Context) context.Context { return ctx },
		recordContext: func(ctx context.Context, _ *batch.Record) context.Context { return ctx },
	}
}

// run runs records as package handler does.
func (c *contexts) run(t *testing.T, timeout time.Duration, records []batch.Record, f batch.HandlerFunc, more ...any) []batch.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	engine := newEngine(t, config{Concurrency: 1, Hooks: testhooks.Of(append([]any{c}, more...)...)}, f)
	info := batch.BatchInfo{Records: len(records)}
	return engine.Run(engine.Hooks.BatchContext(ctx, info, records), records, runner.Options{Times: engine.Times(ctx)})
}

func TestHooksGiveContextsTheirValues(t *testing.T) {
	c := plainContexts()
	c.run(t, time.Minute, fifo("a", "a"), func(ctx context.Context, _ batch.Record) error {
		c.saw(ctx, "handler")
		return errors.New("no")
	})
	want := []string{
		"started batch of 2=2 m-0 ", "handler batch of 2=2 m-0 m-0", "finished batch of 2=2 m-0 m-0",
		"finished batch of 2=2 <nil> m-1", // skipped: it had no context of its own
	}
	if !slices.Equal(c.seen, want) {
		t.Errorf("%q, want %q", c.seen, want)
	}
}

func TestTheEndOfAHooksContextIsNotHeeded(t *testing.T) {
	c := plainContexts()
	c.batchContext = func(ctx context.Context) context.Context {
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		return ctx
	}
	c.recordContext = func(ctx context.Context, _ *batch.Record) context.Context {
		ctx, cancel := context.WithDeadline(ctx, time.Now())
		cancel()
		return ctx
	}
	results := c.run(t, time.Minute, standard(1), func(ctx context.Context, _ batch.Record) error {
		if d, _ := ctx.Deadline(); time.Until(d) < 30*time.Second {
			return fmt.Errorf("deadline in %v", time.Until(d))
		}
		if ctx.Value(key("record")) == nil {
			return errors.New("no value")
		}
		return ctx.Err()
	})
	if results[0].Outcome != batch.Succeeded {
		t.Errorf("%v: %v", results[0].Outcome, results[0].Err)
	}
}

func TestAContextHookThatPanicsOrReturnsNilChangesNothing(t *testing.T) {
	for name, fault := range map[string]func(){"nil": func() {}, "panic": func() { panic("oops") }} {
		t.Run(name, func(t *testing.T) {
			var warned recorder
			c, faulty := plainContexts(), plainContexts()
			faulty.batchContext = func(context.Context) context.Context { fault(); return nil }
			faulty.recordContext = func(context.Context, *batch.Record) context.Context { fault(); return nil }
			c.run(t, time.Minute, standard(1), func(ctx context.Context, _ batch.Record) error {
				c.saw(ctx, "handler")
				return nil
			}, faulty, &onlyWarnings{&warned})
			want := "handler batch of 1=1 m-0 m-0"
			if name == "panic" { // the values of all are lost
				want = "handler <nil> <nil> m-0"
			}
			if !slices.Contains(c.seen, want) {
				t.Errorf("%q, want %q among them", c.seen, want)
			}
			for _, w := range warned.warnings {
				if !strings.Contains(w.Message, "Context panicked") {
					t.Errorf("warned %q", w.Message)
				}
			}
			if n := len(warned.warnings); name == "panic" != (n == 2) {
				t.Errorf("%d warnings", n)
			}
		})
	}
}

func TestARecordThatIsAbandonedBeforeItHasItsContext(t *testing.T) {
	virtual(t, func(t *testing.T) {
		c := plainContexts()
		c.recordContext = func(ctx context.Context, _ *batch.Record) context.Context {
			time.Sleep(time.Hour)
			return ctx
		}
		results := c.run(t, 10*time.Second, standard(1), func(context.Context, batch.Record) error {
			t.Error("handled after it was given up")
			return nil
		})
		if got := outcomes(results); got[0] != batch.Abandoned {
			t.Errorf("%v", got)
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if want := []string{"finished batch of 1=1 <nil> m-0", "started batch of 1=1 m-0 "}; !slices.Equal(c.seen, want) {
			t.Errorf("%q, want %q", c.seen, want)
		}
	})
}

type onFlush func(context.Context)

func (f onFlush) Flush(ctx context.Context) { f(ctx) }

// Each hook is flushed, whatever another one does, and none is waited for
// beyond the end of the context.
func TestFlush(t *testing.T) {
	virtual(t, func(t *testing.T) {
		flushed := make(chan bool, 1)
		var warned recorder
		hooks := hooks.New(testhooks.Of(
			onFlush(func(context.Context) { panic("hook") }),
			onFlush(func(ctx context.Context) { time.Sleep(time.Minute) }),
			onFlush(func(context.Context) { flushed <- true }), &onlyWarnings{&warned}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		hooks.Flush(ctx)
		if took := time.Since(began); took != time.Second || len(flushed) != 1 {
			t.Errorf("took %v, flushed %d", took, len(flushed))
		}
		time.Sleep(time.Hour) // the panic is known when all have ended
		warned.mu.Lock()
		defer warned.mu.Unlock()
		if len(warned.warnings) != 2 || !strings.Contains(warned.warnings[0].Message, "took too long") || !strings.Contains(warned.warnings[1].Message, "panicked") {
			t.Errorf("warned %+v", warned.warnings)
		}
	})
}

// ended is a context that is found to have ended when all else has come to rest.
type ended struct{ context.Context }

func (e ended) Done() <-chan struct{} {
	synctest.Wait()
	return e.Context.Done()
}

// A hook that is done when the context ends is not warned of.
func TestAFlushThatIsDoneAtTheEnd(t *testing.T) {
	virtual(t, func(t *testing.T) {
		var warned recorder
		hooks := hooks.New(testhooks.Of(onFlush(func(context.Context) {}), &onlyWarnings{&warned}))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for range 100 {
			hooks.Flush(ended{ctx})
		}
		if n := len(warned.warnings); n > 0 {
			t.Errorf("%d warnings of 100 flushes that were done in time: %+v", n, warned.warnings[0])
		}
	})
}

func TestNoHooks(t *testing.T) {
	var none hooks.Set
	none.Flush(t.Context())
	none.Called(t.Context(), batch.Call{})
	none.Polling(t.Context(), "", nil)
	if none.Calls {
		t.Error("no hooks want something")
	}
}
