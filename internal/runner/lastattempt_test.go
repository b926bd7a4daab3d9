package runner_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

// lastAttempts runs a FIFO group of n records at their last attempt, for which an
// invocation has left, and returns the results.
func lastAttempts(t *testing.T, n int, left time.Duration, cfg config, send func(*batch.Result) bool, h batch.HandlerFunc) []batch.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), left)
	defer cancel()
	engine := newEngine(t, cfg, h)
	u := newSettler(send)
	u.last = func(*batch.Record) bool { return true }
	return engine.Run(ctx, group(n), u.options(engine.Times(ctx)))
}

func TestHangAtLastAttempt_OnlyThatRecordIsDeadLettered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		results := lastAttempts(t, 10, 30*time.Second, config{}, toDeadLetters, func(ctx context.Context, r batch.Record) error {
			if r.MessageID == "a1" {
				return wait(ctx, time.Hour, false)
			}
			return wait(ctx, 40*time.Millisecond, true)
		})
		for i, r := range results {
			want := batch.Succeeded
			if i == 1 {
				want = batch.DeadLettered
			}
			if r.Outcome != want {
				t.Errorf("%s: %v (%v), want %v", r.Record.MessageID, r.Outcome, r.Err, want)
			}
		}
		if !errors.Is(results[1].Err, batch.ErrAbandoned) {
			t.Errorf("the dead-lettered record's error is %v, want that it was abandoned", results[1].Err)
		}
		if took := time.Since(began); took > 28*time.Second {
			t.Errorf("the batch took %v, beyond its cutoff", took)
		}
		time.Sleep(2 * time.Hour)
	})
}

func TestAbandonedHeadNotDeadLettered_GroupIsSkipped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		results := lastAttempts(t, 3, 30*time.Second, config{}, nil, func(ctx context.Context, r batch.Record) error {
			return wait(ctx, time.Hour, false)
		})
		if got, want := outcomes(results), []batch.Outcome{batch.Abandoned, batch.Skipped, batch.Skipped}; !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
		time.Sleep(2 * time.Hour)
	})
}

// What a record at its last attempt may take of 28 s, see rule 16.
func TestLastAttempt_LeavesTimeForRestOfGroup(t *testing.T) {
	for name, c := range map[string]struct {
		records int
		cfg     config
		want    time.Duration // of the first
	}{
		"no record behind":             {1, config{}, 28 * time.Second},
		"1 s for each of nine":         {10, config{}, 28*time.Second - 9*time.Second - time.Second - 250*time.Millisecond},
		"half of what remains":         {10, config{MinRemaining: 2 * time.Second}, 14 * time.Second},
		"twice what a record needs":    {3, config{MinRemaining: 10 * time.Second}, 20 * time.Second},
		"all there is":                 {2, config{MinRemaining: 20 * time.Second}, 28 * time.Second},
		"the record timeout, if less":  {10, config{RecordTimeout: 3 * time.Second}, 3 * time.Second},
		"the grace that is configured": {2, config{Grace: 5 * time.Second}, 28*time.Second - time.Second - 5*time.Second - 250*time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				results := lastAttempts(t, c.records, 30*time.Second, c.cfg, toDeadLetters, func(context.Context, batch.Record) error { return nil })
				if got := results[0].Allowed; got != c.want {
					t.Errorf("the first is allowed %v, want %v", got, c.want)
				}
			})
		})
	}
}

func TestHealthyRecordsAtLastAttempt_UseAllTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		results := lastAttempts(t, 10, 30*time.Second, config{}, toDeadLetters, func(ctx context.Context, _ batch.Record) error {
			return wait(ctx, 4*time.Second, true)
		})
		for i, r := range results {
			want := batch.Succeeded
			if i >= 7 { // 28 s are over
				want = batch.NotStarted
			}
			if r.Outcome != want {
				t.Errorf("%s: %v (%v), want %v", r.Record.MessageID, r.Outcome, r.Err, want)
			}
		}
	})
}

// Whether this is the last attempt may be asked of SQS, which takes time.
func TestLastAttempt_KnownTooLate_StartsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		engine := newEngine(t, config{}, func(_ context.Context, r batch.Record) error {
			t.Errorf("%s is handled", r.MessageID)
			return nil
		})
		u := newSettler(nil)
		u.last = func(*batch.Record) bool {
			time.Sleep(4900 * time.Millisecond) // beyond the cutoff
			return false
		}
		results := engine.Run(ctx, group(2), u.options(engine.Times(ctx)))
		if got, want := outcomes(results), []batch.Outcome{batch.NotStarted, batch.NotStarted}; !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
		time.Sleep(time.Minute) // the question is answered
	})
}
