package runner_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

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
		if got, want := outcomes(results), []batch.Outcome{batch.Abandoned, batch.Retry, batch.Succeeded}; !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
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
		if got, want := outcomes(results), []batch.Outcome{batch.Abandoned, batch.Succeeded, batch.Succeeded}; !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
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
