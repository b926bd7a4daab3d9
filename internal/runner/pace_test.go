package runner_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/test/testhooks"

	"github.com/sqsbatch/sqsbatch/batch"
)

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
