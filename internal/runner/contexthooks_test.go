package runner_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/test/testhooks"
)

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
