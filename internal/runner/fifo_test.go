package runner_test

import (
	"context"
	"errors"
	"fmt"
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
		wantOutcomes(t, results, batch.Retry, batch.Succeeded, batch.Succeeded)
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
		wantOutcomes(t, results, batch.Succeeded, batch.Succeeded, batch.Retry, batch.Succeeded, batch.Skipped, batch.Succeeded, batch.Succeeded)
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

func TestSameGroupIDInTwoQueues_IsTwoGroups(t *testing.T) {
	records := fifo("a", "a", "a")
	records[1].QueueARN = "arn:aws:sqs:eu-west-1:123456789012:returns.fifo"
	results := invoke(t, 0, records, config{}, func(_ context.Context, r batch.Record) error {
		if r.MessageID == "m-0" {
			return errors.New("no")
		}
		return nil
	})
	wantOutcomes(t, results, batch.Retry, batch.Succeeded, batch.Skipped)
}

func TestFIFORecordsWithoutGroup_KeepTheirOrder(t *testing.T) {
	results := invoke(t, 0, fifo("", ""), config{}, func(context.Context, batch.Record) error { return errors.New("no") })
	wantOutcomes(t, results, batch.Retry, batch.Skipped)
}

func TestStandardRecordsAmongFIFO_ImposeNoOrder(t *testing.T) {
	records := fifo("a", "b", "b")
	records[1].QueueARN, records[2].QueueARN = standardARN, standardARN+".fifo-of-old"
	records = append(records, records[2])
	results := invoke(t, 0, records, config{}, func(context.Context, batch.Record) error { return errors.New("no") })
	wantOutcomes(t, results, batch.Retry, batch.Retry, batch.Retry, batch.Retry)
}
