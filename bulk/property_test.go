package bulk_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/bulk"
	"github.com/sqsbatch/sqsbatch/internal/hooks"
	"github.com/sqsbatch/sqsbatch/internal/runner"
)

// anyBatch is a batch, what happens to its records, and what the function was given.
type anyBatch struct {
	records []batch.Record // with their number in the group as the message id's end
	fails   map[string]bool
	ends    []string // of the function's calls, one after another
	takes   []time.Duration
	heeds   bool
	cfg     bulk.Config
	engine  runner.Config
	timeout time.Duration
	buries  bool

	mu     sync.Mutex
	calls  int
	busy   int // calls that run and whose context has not ended
	chunks []*noted
	breach []string
}

// noted is a call of the function.
type noted struct {
	ids    []string
	failed map[string]bool // what it did not write; all of them unless it returned nil
	done   time.Time       // when it returned; zero until then
	split  bool            // it ended as one does whose halves are written again
}

func drawBatch(t *rapid.T) *anyBatch {
	a := &anyBatch{fails: map[string]bool{}}
	fifo := rapid.Bool().Draw(t, "fifo")
	numbers := map[string]int{}
	for i := range rapid.IntRange(1, 60).Draw(t, "records") {
		r := batch.Record{MessageID: fmt.Sprint("m-", i), QueueARN: "arn:aws:sqs:eu-west-1:123456789012:orders", Attempt: 1}
		if fifo {
			r.QueueARN += ".fifo"
			r.GroupID = rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "group")
			r.MessageID = fmt.Sprintf("%s:%d", r.GroupID, numbers[r.GroupID])
			numbers[r.GroupID]++
		}
		r.Body = strings.Repeat("x", rapid.IntRange(0, 20).Draw(t, "bytes"))
		if rapid.IntRange(0, 14).Draw(t, "is malformed") == 0 {
			r.Body = "bad"
		}
		a.fails[r.MessageID] = rapid.IntRange(0, 9).Draw(t, "fails") == 0
		a.records = append(a.records, r)
	}
	a.cfg.MaxItems = rapid.IntRange(1, 20).Draw(t, "items")
	a.cfg.MaxBytes = rapid.IntRange(10, 200).Draw(t, "max bytes")
	a.cfg.Parallel = rapid.IntRange(1, 3).Draw(t, "parallel")
	a.engine.Concurrency = rapid.IntRange(0, 30).Draw(t, "concurrency")
	if rapid.Bool().Draw(t, "has record timeout") {
		a.engine.RecordTimeout = time.Duration(rapid.IntRange(100, 5000).Draw(t, "record timeout")) * time.Millisecond
	}
	a.timeout = time.Duration(rapid.IntRange(1, 20).Draw(t, "timeout")) * time.Second
	a.heeds = rapid.Bool().Draw(t, "heeds")
	a.buries = rapid.Bool().Draw(t, "buries")
	a.ends = rapid.SliceOfN(rapid.SampledFrom([]string{"nil", "nil", "nil", "error", "panic", "permanent", "goexit", "abort"}), 1, 5).Draw(t, "ends")
	for range a.ends {
		a.takes = append(a.takes, time.Duration(rapid.IntRange(0, 3000).Draw(t, "takes"))*time.Millisecond)
	}
	return a
}

func (a *anyBatch) write(ctx context.Context, items []bulk.Item[string]) error {
	n, c := a.begin(items)
	take := time.NewTimer(a.takes[n])
	defer take.Stop()
	var over <-chan struct{}
	if a.heeds {
		over = ctx.Done()
	}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		a.add(-1)
		close(ended)
	})
	end := a.ends[n]
	select {
	case <-take.C:
	case <-over:
		end = "error"
	}
	for i := range items {
		if a.fails[items[i].Record.MessageID] {
			items[i].Fail(errNo)
		}
	}
	a.mu.Lock()
	for _, id := range c.ids {
		c.failed[id] = end != "nil" || a.fails[id]
	}
	c.done = time.Now()
	c.split = end == "panic" || end == "permanent"
	a.mu.Unlock()
	if stop() {
		a.add(-1)
	} else {
		<-ended // before another call begins
	}
	switch end {
	case "error":
		return errNo
	case "abort":
		return batch.Abort(time.Second, errNo)
	case "permanent":
		return batch.Permanent(errNo)
	case "panic":
		panic("oops")
	case "goexit":
		runtime.Goexit()
	}
	return nil
}

func (a *anyBatch) add(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.busy += n
}

// begin notes a chunk and checks its bounds.
func (a *anyBatch) begin(items []bulk.Item[string]) (call int, c *noted) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c = &noted{failed: map[string]bool{}}
	bytes := 0
	for _, it := range items {
		c.ids = append(c.ids, it.Record.MessageID)
		bytes += len(it.Record.Body)
	}
	a.chunks = append(a.chunks, c)
	if len(items) == 0 || len(items) > a.cfg.MaxItems || bytes > a.cfg.MaxBytes && len(items) > 1 {
		a.breach = append(a.breach, fmt.Sprintf("a chunk has %d items of %d bytes", len(items), bytes))
	}
	if a.busy++; a.busy > a.cfg.Parallel && a.engine.RecordTimeout == 0 {
		a.breach = append(a.breach, fmt.Sprintf("%d chunks are written at a time", a.busy))
	}
	a.calls++
	return (a.calls - 1) % len(a.ends), c
}

// decide is the engine's: a record is dead-lettered in place, or not.
func (a *anyBatch) decide(d *runner.Delivery) {
	if a.buries {
		d.Result.Outcome = batch.DeadLettered
	}
	d.Resolve(a.buries)
}

// Any batch, any sizes, any failures: each record has one outcome, which is what
// the function said; chunks keep their bounds and groups their order.
func TestPropertyAnyBatchInChunks(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a := drawBatch(rt)
		var failure error
		synctest.Test(t, func(t *testing.T) {
			failure = a.check(t)
			time.Sleep(time.Hour)
		})
		if failure != nil {
			rt.Fatal(failure)
		}
	})
}

func (a *anyBatch) check(t *testing.T) error {
	engine := runner.New(bulk.New(text, a.write, a.cfg), a.engine, &hooks.Set{})
	ctx, cancel := context.WithTimeout(t.Context(), a.timeout)
	defer cancel()
	times := engine.Times(ctx)
	results := engine.Run(ctx, a.records, runner.Options{Times: times, Decide: a.decide})
	end := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case len(a.breach) > 0:
		return errors.New(a.breach[0])
	case len(results) != len(a.records) || end.After(times.SettleBy):
		return fmt.Errorf("%d results for %d records, %v before the end", len(results), len(a.records), times.SettleBy.Sub(end))
	}
	for i, r := range results {
		if err := a.checkRecord(r, a.records[i], end); err != nil {
			return fmt.Errorf("%s, %v (%v): %w", a.records[i].MessageID, r.Outcome, r.Err, err)
		}
	}
	return a.checkOrder(results)
}

func (a *anyBatch) checkRecord(r batch.Result, want batch.Record, end time.Time) error {
	id := want.MessageID
	written, times := false, 0 // the latest chunk with it
	for _, c := range a.chunks {
		for k, other := range c.ids {
			if other != id {
				continue
			}
			if !c.split {
				times++
			}
			written = !c.done.IsZero() && !c.done.After(end) && !c.failed[id]
			for _, before := range c.ids[:k] {
				if want.FIFO() && before[0] == id[0] && c.failed[before] {
					written = false // one before it in its group failed
				}
			}
		}
	}
	switch {
	case r.Record == nil || r.Record.MessageID != id || r.Outcome == batch.Pending:
		return errors.New("it has no result")
	case r.Outcome == batch.Succeeded && !written:
		return errors.New("it was not written")
	case (r.Outcome == batch.Retry || r.Outcome == batch.DeadLettered) && written &&
		!errors.Is(r.Err, context.DeadlineExceeded) && !errors.Is(r.Err, batch.ErrAbandoned): // then it may have been written too late
		return errors.New("it was written")
	case strings.HasPrefix(want.Body, "bad") && times > 0:
		return errors.New("it is malformed and was written")
	case !want.FIFO() && times > 1:
		return errors.New("it was written twice")
	}
	return nil
}

// checkOrder follows each group through the chunks: what comes next is behind the
// first failure of the chunk before, or behind all of it. What was in a chunk behind a
// record that was abandoned and dead-lettered is written again.
func (a *anyBatch) checkOrder(results []batch.Result) error {
	abandoned := map[string]bool{}
	for _, r := range results {
		abandoned[r.Record.MessageID] = errors.Is(r.Err, batch.ErrAbandoned)
	}
	next := map[byte]int{}
	for _, c := range a.chunks {
		expect, failed := map[byte]int{}, map[byte]bool{}
		for _, id := range c.ids {
			if id[0] == 'm' {
				continue
			}
			g, n := id[0], 0
			if _, err := fmt.Sscan(id[2:], &n); err != nil {
				return err
			}
			if at, seen := expect[g]; seen && n != at || !seen && n < next[g] {
				return fmt.Errorf("%s is out of order in %q", id, c.ids)
			}
			expect[g] = n + 1
			if !failed[g] && !c.split {
				next[g] = n + 1
			}
			failed[g] = failed[g] || c.failed[id] || abandoned[id]
		}
	}
	return nil
}
