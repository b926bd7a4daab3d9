package runner_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/test/testhooks"
)

// script is what a record's handler does.
type script struct {
	took  time.Duration
	heeds bool // it returns when its context ends
	end   string
}

// world is a batch, what its handlers do, and what they were seen to do.
type world struct {
	records []batch.Record
	scripts map[string]script
	timeout time.Duration
	cfg     config

	mu      sync.Mutex
	running map[string]bool // by FIFO group
	seen    map[string]int  // calls by record
	nilAt   map[string]time.Time
	order   map[string][]string
	breach  []string
}

func drawWorld(t *rapid.T) *world {
	w := &world{scripts: map[string]script{}, running: map[string]bool{}, seen: map[string]int{}, nilAt: map[string]time.Time{}, order: map[string][]string{}}
	n := rapid.IntRange(1, 40).Draw(t, "records")
	isFIFO := rapid.Bool().Draw(t, "fifo")
	for i := range n {
		r := batch.Record{MessageID: fmt.Sprintf("m-%d", i), QueueARN: standardARN}
		if isFIFO {
			r.QueueARN = fifoARN
			r.GroupID = rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "group")
		}
		w.records = append(w.records, r)
		w.scripts[r.MessageID] = script{
			took:  time.Duration(rapid.IntRange(0, 6000).Draw(t, "took")) * time.Millisecond,
			heeds: rapid.Float64Range(0, 1).Draw(t, "heeds") < 0.8,
			end:   rapid.SampledFrom([]string{"nil", "nil", "nil", "nil", "error", "permanent", "panic", "goexit"}).Draw(t, "end"),
		}
	}
	w.timeout = time.Duration(rapid.IntRange(1, 20).Draw(t, "timeout")) * time.Second
	w.cfg.Concurrency = rapid.IntRange(1, 12).Draw(t, "concurrency")
	if rapid.Bool().Draw(t, "has record timeout") {
		w.cfg.RecordTimeout = time.Duration(rapid.IntRange(100, 5000).Draw(t, "record timeout")) * time.Millisecond
	}
	if rapid.Bool().Draw(t, "has minimum") {
		w.cfg.MinRemaining = time.Duration(rapid.IntRange(1, 3000).Draw(t, "minimum")) * time.Millisecond
	}
	if rapid.Bool().Draw(t, "hooks") {
		w.cfg.Hooks = testhooks.Of(onStart(func(context.Context, *batch.Record) {}), onFinish(func(context.Context, batch.Result) { runtime.Gosched() }))
	}
	return w
}

func (w *world) handle(ctx context.Context, r batch.Record) error {
	w.enter(r)
	defer w.leave(r)
	s := w.scripts[r.MessageID]
	if err := wait(ctx, s.took, s.heeds); err != nil {
		return err
	}
	switch s.end {
	case "error":
		return errors.New("no")
	case "permanent":
		return batch.Permanent(errors.New("never"))
	case "panic":
		panic("oops")
	case "goexit":
		runtime.Goexit()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.nilAt[r.MessageID] = time.Now()
	return nil
}

func (w *world) enter(r batch.Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen[r.MessageID]++
	if r.FIFO() {
		if w.running[r.GroupID] {
			w.breach = append(w.breach, fmt.Sprintf("%s began while another of group %s ran", r.MessageID, r.GroupID))
		}
		w.running[r.GroupID] = true
		w.order[r.GroupID] = append(w.order[r.GroupID], r.MessageID)
	}
}

func (w *world) leave(r batch.Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running[r.GroupID] = false
}

// TestPropertyAnyBatch holds rules 2 to 7 and 16 against any batch, any
// outcomes and any timings.
func TestPropertyAnyBatch(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := drawWorld(rt)
		var failure string
		synctest.Test(t, func(t *testing.T) {
			failure = w.check(t)
			time.Sleep(time.Hour) // what was abandoned ends before the bubble does
		})
		if failure != "" {
			rt.Fatal(failure)
		}
	})
}

func (w *world) check(t *testing.T) string {
	ctx, cancel := context.WithTimeout(t.Context(), w.timeout)
	defer cancel()
	engine := newEngine(t, w.cfg, w.handle)
	times := engine.Times(ctx)
	told := map[string]int{}
	results := engine.Run(ctx, w.records, failed(times, func(unit []*batch.Result) {
		for _, r := range unit {
			told[r.Record.MessageID]++
		}
	}))
	end := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()

	if len(w.breach) > 0 {
		return w.breach[0]
	}
	if end.After(times.SettleBy) {
		return fmt.Sprintf("the batch ended %v after SettleBy", end.Sub(times.SettleBy))
	}
	if len(results) != len(w.records) {
		return "the number of results is not that of the records"
	}
	failed := map[string]bool{} // groups
	for i, r := range results {
		id := w.records[i].MessageID
		if r.Record == nil || r.Record.MessageID != id {
			return fmt.Sprintf("result %d is not that of %s", i, id)
		}
		at, returnedNil := w.nilAt[id]
		switch r.Outcome {
		case batch.Succeeded:
			if !returnedNil || r.Err != nil {
				return id + " succeeded without a nil"
			}
		case batch.Retry, batch.Abandoned:
			if graceEnds := r.Started.Add(r.Allowed + time.Second); returnedNil && at.Before(end) && at.Before(graceEnds) {
				return fmt.Sprintf("%s is %v although its handler returned nil in time", id, r.Outcome)
			}
		case batch.NotStarted, batch.Skipped:
			if w.seen[id] != 0 {
				return fmt.Sprintf("%s is %v and was handled", id, r.Outcome)
			}
		default:
			return fmt.Sprintf("%s ended as %v", id, r.Outcome)
		}
		if w.seen[id] > 1 {
			return id + " was handled twice"
		}
		if wantTold := r.Outcome != batch.Succeeded && r.Outcome != batch.NotStarted; (told[id] == 1) != wantTold || told[id] > 1 {
			return fmt.Sprintf("%s is %v and was reported %d times as failed", id, r.Outcome, told[id])
		}
		if !r.Started.IsZero() {
			if r.Allowed > times.Cutoff.Sub(r.Started) {
				return id + " was allowed more than remained"
			}
			if w.cfg.RecordTimeout > 0 && r.Allowed > w.cfg.RecordTimeout {
				return id + " was allowed more than the record timeout"
			}
			if w.cfg.MinRemaining > 0 && times.Cutoff.Sub(r.Started) < w.cfg.MinRemaining {
				return id + " was started with less than the minimum"
			}
		}
		// FIFO: after the first record of a group that is not done, none is.
		if r.Record.FIFO() {
			if failed[r.Record.GroupID] && r.Outcome != batch.Skipped && r.Outcome != batch.NotStarted {
				return fmt.Sprintf("%s is %v after a failure in its group", id, r.Outcome)
			}
			failed[r.Record.GroupID] = failed[r.Record.GroupID] || !r.Outcome.Done()
		}
	}
	return ""
}
