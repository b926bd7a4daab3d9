package batch_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

func TestNoRecordsAreDoneAtOnce(t *testing.T) {
	if results := invoke(t, 0, nil, batch.Config{}, func(context.Context, batch.Record) error { return nil }); len(results) != 0 {
		t.Errorf("%+v", results)
	}
}

func TestRule03NothingIsStartedWhileTheBatchIsClosed(t *testing.T) {
	// Both records that run are overdue, so the batch ends. While a hook is told
	// of one, the other returns: that counts, but its group does not go on.
	virtual(t, func(t *testing.T) {
		var mu sync.Mutex
		var handled []string
		hook := finishedHook(func(r batch.Result) {
			if r.Outcome == batch.Abandoned {
				time.Sleep(10 * time.Second)
			}
		})
		cfg := batch.Config{Concurrency: 2, RecordTimeout: 2 * time.Second, Hooks: []any{hook}}
		results := invoke(t, 0, fifo("a", "a", "b", "b"), cfg, func(ctx context.Context, r batch.Record) error {
			mu.Lock()
			handled = append(handled, r.MessageID)
			mu.Unlock()
			return wait(ctx, 5*time.Second, false)
		})
		slices.Sort(handled)
		if want := []string{"m-0", "m-2"}; !slices.Equal(handled, want) {
			t.Errorf("handled %v, want %v; outcomes %v", handled, want, outcomes(results))
		}
		time.Sleep(2 * time.Hour)
	})
}
