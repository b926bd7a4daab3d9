package runner_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/runner"
)

func TestGroupIDsOnStandardQueue_ImposeNoOrder(t *testing.T) {
	virtual(t, func(t *testing.T) {
		fair := fifo("g", "g", "g")
		for i := range fair {
			fair[i].QueueARN = standardARN // a fair queue: groups without order
		}
		begin := time.Now()
		results := invoke(t, 10*time.Second, fair, config{}, func(ctx context.Context, r batch.Record) error {
			if r.MessageID == "m-0" {
				return errors.New("no")
			}
			return wait(ctx, time.Second, true)
		})
		if got, want := outcomes(results), []batch.Outcome{batch.Retry, batch.Succeeded, batch.Succeeded}; !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
		if took := time.Since(begin); took != time.Second {
			t.Errorf("the batch took %v: the group was handled in order", took)
		}
	})
}

func TestFIFOGroups_RunInOrderAndSkipAfterFailure(t *testing.T) {
	virtual(t, func(t *testing.T) {
		records := fifo("a", "b", "a", "b", "a", "c", "b")
		var mu sync.Mutex
		handled := map[string][]string{}
		var units [][]string
		engine := newEngine(t, config{}, func(ctx context.Context, r batch.Record) error {
			mu.Lock()
			handled[r.GroupID] = append(handled[r.GroupID], r.MessageID)
			mu.Unlock()
			if err := wait(ctx, time.Second, true); err != nil {
				return err
			}
			if r.MessageID == "m-2" {
				return errors.New("no")
			}
			return nil
		})
		begin := time.Now()
		results := engine.Run(t.Context(), records, failed(runner.Times{}, func(unit []*batch.Result) {
			var ids []string
			for _, r := range unit {
				ids = append(ids, r.Record.MessageID)
			}
			units = append(units, ids)
		}))
		if got, want := outcomes(results), []batch.Outcome{batch.Succeeded, batch.Succeeded, batch.Retry, batch.Succeeded, batch.Skipped, batch.Succeeded, batch.Succeeded}; !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
		if got, want := fmt.Sprint(handled), "map[a:[m-0 m-2] b:[m-1 m-3 m-6] c:[m-5]]"; got != want {
			t.Errorf("handled %v, want %v", got, want)
		}
		if got, want := fmt.Sprint(units), "[[m-2 m-4]]"; got != want {
			t.Errorf("reported the failures %v, want %v", got, want)
		}
		if !errors.Is(results[4].Err, batch.ErrSkipped) || !strings.Contains(results[4].Err.Error(), "m-2") {
			t.Errorf("the skipped record's error is %v", results[4].Err)
		}
		if took := time.Since(begin); took != 3*time.Second {
			t.Errorf("took %v, want 3s: the longest group", took)
		}
	})
}

func TestMalformedRecord_FailsItsGroup(t *testing.T) {
	records := fifo("a", "a")
	records[0].Body, records[1].Body = "{", "{}"
	results := invoke(t, 0, records, config{}, batch.JSON(func(context.Context, struct{}) error { return nil }))
	if got, want := outcomes(results), []batch.Outcome{batch.Retry, batch.Skipped}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestRecordAbandoned_RestOfGroupIsSkipped(t *testing.T) {
	virtual(t, func(t *testing.T) {
		cfg := config{Concurrency: 1, RecordTimeout: 2 * time.Second}
		results := invoke(t, time.Minute, fifo("a", "a", "b"), cfg, func(ctx context.Context, r batch.Record) error {
			return wait(ctx, time.Hour, r.GroupID == "b")
		})
		if got, want := outcomes(results), []batch.Outcome{batch.Abandoned, batch.Skipped, batch.Retry}; !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
		time.Sleep(2 * time.Hour)
	})
}
