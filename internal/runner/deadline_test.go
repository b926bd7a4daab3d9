package runner_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/test/docpage"
	"github.com/sqsbatch/sqsbatch/test/testhooks"
)

func TestCutoff_IsDeadlineLessAdaptiveReserve(t *testing.T) {
	for _, c := range []struct {
		timeout, configured, want time.Duration
	}{
		{400 * time.Millisecond, 0, 100 * time.Millisecond},
		{time.Second, 0, 200 * time.Millisecond},
		{3 * time.Second, 0, 300 * time.Millisecond},
		{10 * time.Second, 0, time.Second},
		{15 * time.Minute, 0, 2 * time.Second},
		{30 * time.Second, 5 * time.Second, 5 * time.Second},
		{3 * time.Second, 5 * time.Second, 1500 * time.Millisecond}, // or nothing would ever be handled
	} {
		virtual(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), c.timeout)
			defer cancel()
			engine := newEngine(t, config{Reserve: c.configured}, func(context.Context, batch.Record) error { return nil })
			times := engine.Times(ctx)
			if got := times.Deadline.Sub(times.Cutoff); got != c.want {
				t.Errorf("timeout %v, Reserve %v: the reserve is %v, want %v", c.timeout, c.configured, got, c.want)
			}
			if got := times.Deadline.Sub(times.SettleBy); got != c.want/4 {
				t.Errorf("timeout %v: %v are left after SettleBy, want a quarter of the reserve", c.timeout, got)
			}
		})
	}
}

func TestRecordDeadline_IsAllThatRemains(t *testing.T) {
	virtual(t, func(t *testing.T) {
		var deadlines []time.Duration
		begin := time.Now()
		// One at a time, so that the second starts a second later: its deadline is the same moment.
		results := invoke(t, 10*time.Second, standard(2), config{Concurrency: 1}, func(ctx context.Context, _ batch.Record) error {
			d, ok := ctx.Deadline()
			if !ok {
				t.Error("the context has no deadline")
			}
			deadlines = append(deadlines, d.Sub(begin))
			return wait(ctx, time.Second, true)
		})
		if want := []time.Duration{9 * time.Second, 9 * time.Second}; !slices.Equal(deadlines, want) {
			t.Errorf("deadlines after %v, want %v", deadlines, want)
		}
		if results[1].Allowed != 8*time.Second {
			t.Errorf("the second record was allowed %v, want 8s", results[1].Allowed)
		}
	})
}

func TestRecordTimeout_EndsRecordBeforeCutoff(t *testing.T) {
	virtual(t, func(t *testing.T) {
		cfg := config{RecordTimeout: 2 * time.Second, Concurrency: 1}
		var ended []time.Duration
		begin := time.Now()
		results := invoke(t, 30*time.Second, standard(3), cfg, func(ctx context.Context, r batch.Record) error {
			err := wait(ctx, time.Hour, true)
			ended = append(ended, time.Since(begin))
			return err
		})
		if want := []time.Duration{2 * time.Second, 4 * time.Second, 6 * time.Second}; !slices.Equal(ended, want) {
			t.Errorf("records ended after %v, want %v", ended, want)
		}
		for _, r := range results {
			if r.Outcome != batch.Retry || !errors.Is(r.Err, context.DeadlineExceeded) {
				t.Errorf("%s: %v (%v), want retry by the deadline", r.Record.MessageID, r.Outcome, r.Err)
			}
		}
	})
}

func TestTooLittleTimeLeft_RecordIsNotStarted(t *testing.T) {
	for name, c := range map[string]struct {
		cfg  config
		took time.Duration // by each success before
		want []batch.Outcome
	}{
		// 9 s to the cutoff, 4 s each: after two, 1 s is left.
		"median":     {config{Concurrency: 1}, 4 * time.Second, []batch.Outcome{batch.Succeeded, batch.Succeeded, batch.NotStarted, batch.NotStarted}},
		"configured": {config{Concurrency: 1, MinRemaining: 6 * time.Second}, 4 * time.Second, []batch.Outcome{batch.Succeeded, batch.NotStarted, batch.NotStarted, batch.NotStarted}},
		"enough":     {config{Concurrency: 1}, 2 * time.Second, []batch.Outcome{batch.Succeeded, batch.Succeeded, batch.Succeeded, batch.Succeeded}},
		"at least 50 ms": {config{Concurrency: 1}, 2990 * time.Millisecond, // 30 ms are left after three
			[]batch.Outcome{batch.Succeeded, batch.Succeeded, batch.Succeeded, batch.NotStarted}},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				calls := 0
				results := invoke(t, 10*time.Second, standard(4), c.cfg, func(ctx context.Context, _ batch.Record) error {
					calls++
					return wait(ctx, c.took, true)
				})
				if got := outcomes(results); !slices.Equal(got, c.want) {
					t.Errorf("%v, want %v", got, c.want)
				}
				for i, r := range results {
					if r.Outcome == batch.NotStarted && (!errors.Is(r.Err, batch.ErrNotStarted) || !r.Started.IsZero()) {
						t.Errorf("record %d: %v, started %v", i, r.Err, r.Started)
					}
				}
			})
		})
	}
}

func TestMinRemainingAboveTimeLeft_Warns(t *testing.T) {
	virtual(t, func(t *testing.T) {
		var warned recorder
		cfg := config{MinRemaining: time.Minute, Hooks: testhooks.Of(&warned)}
		invoke(t, 10*time.Second, standard(1), cfg, func(context.Context, batch.Record) error { return nil })
		if len(warned.warnings) != 1 {
			t.Errorf("%d warnings, want 1", len(warned.warnings))
		}
	})
}

func TestContextWithoutDeadline_RecordHasNone(t *testing.T) {
	virtual(t, func(t *testing.T) {
		results := invoke(t, 0, standard(1), config{}, func(ctx context.Context, _ batch.Record) error {
			if _, ok := ctx.Deadline(); ok {
				t.Error("the context has a deadline")
			}
			return wait(ctx, 24*time.Hour, true)
		})
		if results[0].Outcome != batch.Succeeded || results[0].Allowed != 0 {
			t.Errorf("%v, allowed %v", results[0].Outcome, results[0].Allowed)
		}
	})
}

func TestExpiredOrCanceledContext_StartsNothing(t *testing.T) {
	virtual(t, func(t *testing.T) {
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		expired, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
		defer cancel()
		for name, ctx := range map[string]context.Context{"cancelled": cancelled, "expired": expired} {
			engine := newEngine(t, config{}, func(context.Context, batch.Record) error {
				t.Errorf("%s: the handler was called", name)
				return nil
			})
			if times := engine.Times(ctx); times.Cutoff.After(times.Deadline) {
				t.Errorf("%s: the cutoff is %v after the deadline", name, times.Cutoff.Sub(times.Deadline))
			}
			for _, r := range engine.Run(ctx, standard(3), runner.Options{Times: engine.Times(ctx)}) {
				if r.Outcome != batch.NotStarted || r.Record == nil {
					t.Errorf("%s: %v", name, r.Outcome)
				}
			}
		}
	})
}

func TestContextCanceledWhileRunning_EndsTheBatch(t *testing.T) {
	virtual(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		engine := newEngine(t, config{Concurrency: 2}, func(ctx context.Context, r batch.Record) error {
			return wait(ctx, time.Hour, r.MessageID == "m-0")
		})
		results := engine.Run(ctx, standard(3), runner.Options{Times: engine.Times(ctx)})
		wantOutcomes(t, results, batch.Retry, batch.Abandoned, batch.NotStarted)
		if !errors.Is(results[0].Err, context.Canceled) {
			t.Errorf("the first record's error is %v", results[0].Err)
		}
		time.Sleep(2 * time.Hour)
	})
}

func TestTenThousandRecordsTakeTenGoroutines(t *testing.T) {
	virtual(t, func(t *testing.T) {
		before := runtime.NumGoroutine()
		var most, running, together atomic.Int64
		results := invoke(t, 15*time.Minute, standard(10_000), config{}, func(ctx context.Context, _ batch.Record) error {
			together.Store(max(together.Load(), running.Add(1)))
			most.Store(max(most.Load(), int64(runtime.NumGoroutine()-before)))
			defer running.Add(-1)
			return wait(ctx, 10*time.Millisecond, true)
		})
		for _, r := range results {
			if r.Outcome != batch.Succeeded {
				t.Fatalf("%s: %v", r.Record.MessageID, r.Outcome)
			}
		}
		if together.Load() != 10 || most.Load() > 12 {
			t.Errorf("%d handlers at a time, %d goroutines, want 10 and at most 12", together.Load(), most.Load())
		}
	})
}

// inTurn runs records one at a time, 9 s to the cutoff. Each takes its time of
// tooks; those whose time is negative fail after it.
func inTurn(t *testing.T, cfg config, tooks ...time.Duration) (results []batch.Result, took time.Duration) {
	t.Helper()
	virtual(t, func(t *testing.T) {
		begin, i := time.Now(), 0
		cfg.Concurrency = 1
		results = invoke(t, 10*time.Second, standard(len(tooks)), cfg, func(ctx context.Context, _ batch.Record) error {
			d := tooks[i]
			i++
			if d < 0 {
				return errors.Join(wait(ctx, -d, true), errors.New("no"))
			}
			return wait(ctx, d, true)
		})
		took = time.Since(begin)
	})
	return results, took
}

func TestMinimumTime_IsMedianOfSuccesses(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	for name, c := range map[string]struct {
		cfg     config
		tooks   []time.Duration
		started bool // the last one
	}{
		"exactly the median":            {tooks: []time.Duration{1 * s, 1 * s, 6 * s, 0}, started: true},
		"less than the median":          {tooks: []time.Duration{1 * s, 3 * s, 3 * s, 0}},
		"the median is not in order":    {tooks: []time.Duration{3 * s, 1 * s, 3 * s, 0}},
		"of two, the longer":            {tooks: []time.Duration{1 * s, 5 * s, 0}},
		"failures do not count":         {tooks: []time.Duration{-8 * s, 0}, started: true},
		"50 ms without a success":       {tooks: []time.Duration{-8950 * ms, 0}, started: true},
		"49 ms without a success":       {tooks: []time.Duration{-8951 * ms, 0}},
		"exactly what is configured":    {config{MinRemaining: 4 * s}, []time.Duration{5 * s, 0}, true},
		"less than what is configured":  {config{MinRemaining: 4 * s}, []time.Duration{5*s + ms, 0}, false},
		"configured below the median":   {config{MinRemaining: ms}, []time.Duration{8990 * ms, 0}, true},
		"configured, median not looked": {config{MinRemaining: s}, []time.Duration{7 * s, 0}, true},
	} {
		t.Run(name, func(t *testing.T) {
			results, took := inTurn(t, c.cfg, c.tooks...)
			last := results[len(results)-1]
			if got := last.Outcome == batch.Succeeded; got != c.started {
				t.Errorf("the last record is %v", last.Outcome)
			}
			var want time.Duration
			for _, d := range c.tooks {
				want += d.Abs()
			}
			if took != want {
				t.Errorf("the batch took %v, want %v: nothing is waited for once no record is started", took, want)
			}
		})
	}
}

func TestMedian_CountsTheLatest64Successes(t *testing.T) {
	virtual(t, func(t *testing.T) {
		// 64 quick ones, 40 of 20 s, one that fails: 10 s are left of 898.
		var tooks []time.Duration
		tooks = append(tooks, slices.Repeat([]time.Duration{time.Millisecond}, 64)...)
		tooks = append(tooks, slices.Repeat([]time.Duration{20 * time.Second}, 40)...)
		i := -1
		results := invoke(t, 15*time.Minute, standard(106), config{Concurrency: 1}, func(ctx context.Context, _ batch.Record) error {
			i++
			if i == 104 {
				return errors.Join(wait(ctx, 88*time.Second, true), errors.New("no"))
			}
			return wait(ctx, tooks[i], true)
		})
		if got := results[104].Outcome; got != batch.Retry {
			t.Fatalf("the one before the last is %v", got)
		}
		if got := results[105].Outcome; got != batch.NotStarted {
			t.Errorf("with 10s left and a median of 20s the last one is %v", got)
		}
	})
}

func TestSomeStartedOrContextCanceled_NoMinRemainingWarning(t *testing.T) {
	virtual(t, func(t *testing.T) {
		var warned recorder
		cfg := config{MinRemaining: 5 * time.Second, Concurrency: 1, Hooks: testhooks.Of(&warned)}
		results := invoke(t, 10*time.Second, standard(2), cfg, func(ctx context.Context, _ batch.Record) error {
			return wait(ctx, 6*time.Second, true)
		})
		if results[1].Outcome != batch.NotStarted || len(warned.warnings) > 0 {
			t.Errorf("some were started: %v, warned %v", results[1].Outcome, warned.warnings)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		cancel()
		engine := newEngine(t, cfg, func(context.Context, batch.Record) error { return nil })
		engine.Run(ctx, standard(2), runner.Options{Times: engine.Times(ctx)})
		if len(warned.warnings) > 0 {
			t.Errorf("cancelled before the start: warned %v", warned.warnings)
		}
	})
}

var update = flag.Bool("update", false, "write the deadlines into docs/how-it-works.md")

// docs/how-it-works.md has the moments of an invocation as they are.
func TestThePageHasTheDeadlines(t *testing.T) {
	table := "| timeout of the function | reserve | a record may run until | the response goes out by |\n| --- | --- | --- | --- |\n"
	for _, timeout := range []time.Duration{time.Second, 3 * time.Second, 10 * time.Second, time.Minute, 15 * time.Minute} {
		times := timesOf(t, timeout)
		at := func(moment time.Time) time.Duration { return timeout - times.Deadline.Sub(moment) }
		table += fmt.Sprintf("| %v | %v | %v | %v |\n", timeout, times.Deadline.Sub(times.Cutoff), at(times.Cutoff), at(times.SettleBy))
	}
	docpage.RequireSection(t, "../../docs/how-it-works.md", "deadlines", table, *update)
}

// timesOf are those of an invocation that begins now.
func timesOf(t *testing.T, timeout time.Duration) (times runner.Times) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		engine := newEngine(t, config{}, func(context.Context, batch.Record) error { return nil })
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		times = engine.Times(ctx)
	})
	return times
}
