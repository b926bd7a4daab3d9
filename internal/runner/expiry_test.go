package runner_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/test/testhooks"
)

func TestGraceAtCutoff_IsShortestOfThreeLimits(t *testing.T) {
	for name, c := range map[string]struct {
		grace, settleBy, want time.Duration // settleBy after the cutoff
	}{
		"a quarter of the reserve": {0, 750 * time.Millisecond, 9250 * time.Millisecond},
		"the configured grace":     {100 * time.Millisecond, 750 * time.Millisecond, 9100 * time.Millisecond},
		"what is left to SettleBy": {0, 50 * time.Millisecond, 9050 * time.Millisecond},
		"nothing is left":          {0, -time.Second, 9 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				begin := time.Now()
				cutoff := begin.Add(9 * time.Second)
				times := runner.Times{Deadline: cutoff.Add(time.Second), Cutoff: cutoff, SettleBy: cutoff.Add(c.settleBy)}
				engine := newEngine(t, config{Grace: c.grace}, func(ctx context.Context, _ batch.Record) error {
					return wait(ctx, time.Hour, false)
				})
				r := engine.Run(t.Context(), standard(1), runner.Options{Times: times})[0]
				if took := time.Since(begin); took != c.want || r.Outcome != batch.Abandoned || r.Duration != c.want {
					t.Errorf("the batch took %v, its record %v (%v), want %v", took, r.Duration, r.Outcome, c.want)
				}
				time.Sleep(2 * time.Hour)
			})
		})
	}
}

func TestHandlersEndAtCutoff_BatchEndsWithoutGrace(t *testing.T) {
	virtual(t, func(t *testing.T) {
		begin := time.Now()
		invoke(t, 10*time.Second, standard(3), config{}, func(ctx context.Context, _ batch.Record) error {
			return wait(ctx, time.Hour, true)
		})
		if took := time.Since(begin); took != 9*time.Second {
			t.Errorf("the batch took %v, want 9s", took)
		}
	})
}

func TestAllRunningAbandoned_BatchEnds(t *testing.T) {
	for name, c := range map[string]struct {
		records []batch.Record
		want    time.Duration
	}{
		"one":                   {standard(1), 3 * time.Second},
		"with others behind it": {fifo("a", "a", "a"), 3 * time.Second},
		"and one that heeds":    {fifo("a", "a", "b"), 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				begin := time.Now()
				cfg := config{Concurrency: 1, RecordTimeout: 2 * time.Second}
				results := invoke(t, time.Minute, c.records, cfg, func(ctx context.Context, r batch.Record) error {
					return wait(ctx, time.Hour, r.GroupID == "b")
				})
				if took := time.Since(begin); took != c.want || results[0].Outcome != batch.Abandoned {
					t.Errorf("%v after %v, want abandoned after %v", results[0].Outcome, took, c.want)
				}
				time.Sleep(2 * time.Hour)
			})
		})
	}
}

func TestTimerOfAbandonedRecord_ChangesNothing(t *testing.T) {
	// The record's own grace ends at 9.9 s, after the batch's at 9.25 s.
	virtual(t, func(t *testing.T) {
		cfg := config{RecordTimeout: 8900 * time.Millisecond}
		results := invoke(t, 10*time.Second, standard(1), cfg, func(ctx context.Context, _ batch.Record) error {
			return wait(ctx, time.Hour, false)
		})
		before := results[0]
		time.Sleep(2 * time.Hour)
		if before.Outcome != batch.Abandoned || fmt.Sprint(results[0]) != fmt.Sprint(before) {
			t.Errorf("%+v became %+v", before, results[0])
		}
	})
}

func TestTimerFiresAsRecordEnds_EndsNoOtherRecord(t *testing.T) {
	// Handlers return at the very moment of their deadline: the timer for them
	// has fired when the hooks are notified of them, or when the next has begun.
	for range 50 {
		virtual(t, func(t *testing.T) {
			const n = 10
			var early, calls atomic.Int64
			var timers [n]*time.Timer // made before those of the run, to fire before them
			for i := range timers {
				timers[i] = time.NewTimer(time.Second)
			}
			hook := onFinish(func(_ context.Context, r batch.Result) {
				if r.Record.MessageID == "m-0" {
					time.Sleep(time.Millisecond)
				}
			})
			cfg := config{Concurrency: n, RecordTimeout: time.Second, Hooks: testhooks.Of(hook)}
			results := invoke(t, 0, standard(3*n), cfg, func(ctx context.Context, _ batch.Record) error {
				if i := calls.Add(1) - 1; i < n {
					<-timers[i].C
					return nil
				}
				begin := time.Now()
				_ = wait(ctx, time.Second, true)
				if time.Since(begin) < time.Second {
					early.Add(1)
				}
				return nil
			})
			if early.Load() > 0 {
				t.Errorf("%d of %d records were ended before their time", early.Load(), len(results))
			}
		})
	}
}

func TestRun_ReturnsAfterFinishedHooks(t *testing.T) {
	virtual(t, func(t *testing.T) {
		var telling, told atomic.Int64
		hook := onFinish(func(context.Context, batch.Result) {
			telling.Add(1)
			time.Sleep(300 * time.Millisecond)
			telling.Add(-1)
			told.Add(1)
		})
		results := invoke(t, 10*time.Second, standard(2), config{Hooks: testhooks.Of(hook)}, func(ctx context.Context, r batch.Record) error {
			return wait(ctx, 8900*time.Millisecond, true)
		})
		if telling.Load() != 0 || told.Load() != 2 {
			t.Errorf("%d of 2 told, %d calls under way", told.Load(), telling.Load())
		}
		if got, want := outcomes(results), []batch.Outcome{batch.Succeeded, batch.Succeeded}; !slices.Equal(got, want) {
			t.Errorf("%v, want %v: their handlers had returned", got, want)
		}
	})
}

func TestAbandonedHandlerReturns_SlotCountIsUnchanged(t *testing.T) {
	virtual(t, func(t *testing.T) {
		begin := time.Now()
		cfg := config{Concurrency: 1, RecordTimeout: 2 * time.Second}
		results := invoke(t, time.Minute, standard(4), cfg, func(ctx context.Context, r batch.Record) error {
			if r.MessageID == "m-0" {
				return wait(ctx, 4*time.Second, false) // abandoned after 3 s, when the next begins
			}
			return wait(ctx, 1500*time.Millisecond, false)
		})
		wantOutcomes(t, results, batch.Abandoned, batch.Succeeded, batch.Succeeded, batch.Succeeded)
		if took := time.Since(begin); took != 7500*time.Millisecond {
			t.Errorf("the batch took %v, want 7.5s: one at a time", took)
		}
	})
}

func TestHandlerIgnoresCutoff_IsAbandoned(t *testing.T) {
	virtual(t, func(t *testing.T) {
		begin := time.Now()
		results := invoke(t, 3*time.Second, standard(3), config{}, func(ctx context.Context, r batch.Record) error {
			switch r.MessageID {
			case "m-0":
				return wait(ctx, time.Hour, false)
			case "m-1":
				return wait(ctx, time.Hour, true)
			}
			return nil
		})
		if took := time.Since(begin); took >= 2900*time.Millisecond {
			t.Errorf("the batch took %v of 3s", took)
		}
		wantOutcomes(t, results, batch.Abandoned, batch.Retry, batch.Succeeded)
		if !errors.Is(results[0].Err, batch.ErrAbandoned) {
			t.Errorf("the abandoned record's error is %v", results[0].Err)
		}
		time.Sleep(2 * time.Hour) // it returns nil long after: nothing changes
		if results[0].Outcome != batch.Abandoned {
			t.Errorf("the outcome became %v afterwards", results[0].Outcome)
		}
	})
}

func TestAbandonedHandler_FreesItsSlot(t *testing.T) {
	virtual(t, func(t *testing.T) {
		cfg := config{Concurrency: 1, RecordTimeout: 2 * time.Second}
		begin := time.Now()
		results := invoke(t, time.Minute, standard(3), cfg, func(ctx context.Context, r batch.Record) error {
			if r.MessageID == "m-0" {
				return wait(ctx, time.Hour, false)
			}
			return nil
		})
		wantOutcomes(t, results, batch.Abandoned, batch.Succeeded, batch.Succeeded)
		if took := time.Since(begin); took != 3*time.Second {
			t.Errorf("the batch took %v, want 3s: the timeout and the grace", took)
		}
		time.Sleep(2 * time.Hour)
	})
}

func TestNilAfterDeadline_SucceedsOnlyWithinGrace(t *testing.T) {
	virtual(t, func(t *testing.T) {
		cfg := config{Concurrency: 2, RecordTimeout: 2 * time.Second}
		results := invoke(t, time.Minute, standard(8), cfg, func(ctx context.Context, r batch.Record) error {
			switch r.MessageID {
			case "m-0":
				return wait(ctx, 2900*time.Millisecond, false)
			case "m-1":
				return wait(ctx, 3100*time.Millisecond, false)
			}
			return wait(ctx, 1500*time.Millisecond, false)
		})
		for i, r := range results {
			want := batch.Succeeded
			if i == 1 {
				want = batch.Abandoned
			}
			if r.Outcome != want {
				t.Errorf("record %d: %v (%v), want %v", i, r.Outcome, r.Err, want)
			}
		}
	})
}

func TestNilWithinGraceAfterCutoff_Succeeds(t *testing.T) {
	virtual(t, func(t *testing.T) {
		results := invoke(t, 10*time.Second, standard(1), config{}, func(ctx context.Context, _ batch.Record) error {
			<-ctx.Done()
			return wait(ctx, 100*time.Millisecond, false)
		})
		if results[0].Outcome != batch.Succeeded {
			t.Errorf("%v (%v)", results[0].Outcome, results[0].Err)
		}
	})
}
