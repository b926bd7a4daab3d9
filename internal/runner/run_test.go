package runner_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/hooks"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/test/testhooks"
)

// recorder is a hook that notes everything.
type recorder struct {
	mu       sync.Mutex
	started  []string
	finished []string
	warnings []batch.Warning
}

func (r *recorder) RecordContext(ctx context.Context, record *batch.Record) context.Context {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.started = append(r.started, record.MessageID)
	return ctx
}

func (r *recorder) RecordFinished(_ context.Context, result batch.Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.finished = append(r.finished, result.Record.MessageID+" "+result.Outcome.String())
}

func (r *recorder) Warned(_ context.Context, w batch.Warning) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.warnings = append(r.warnings, w)
}

func TestBatch_GivesEachRecordOneOutcomeInOrder(t *testing.T) {
	virtual(t, func(t *testing.T) {
		var hook recorder
		boom := errors.New("boom")
		results := invoke(t, 10*time.Second, standard(5), config{Hooks: testhooks.Of(&hook)}, func(ctx context.Context, r batch.Record) error {
			switch r.MessageID {
			case "m-1":
				return boom
			case "m-2":
				return batch.Permanent(boom)
			case "m-3":
				return wait(ctx, time.Hour, false)
			}
			return nil
		})
		// Permanent is a plain failure until it has reached a dead-letter queue.
		wantOutcomes(t, results, batch.Succeeded, batch.Retry, batch.Retry, batch.Abandoned, batch.Succeeded)
		for i, r := range results {
			if r.Record.MessageID != fmt.Sprintf("m-%d", i) {
				t.Errorf("result %d is of %s", i, r.Record.MessageID)
			}
			if r.Outcome.Done() != (r.Err == nil) {
				t.Errorf("%s: %v with error %v", r.Record.MessageID, r.Outcome, r.Err)
			}
		}
		slices.Sort(hook.finished)
		if want := []string{"m-0 succeeded", "m-1 retry", "m-2 retry", "m-3 abandoned", "m-4 succeeded"}; !slices.Equal(hook.finished, want) {
			t.Errorf("hooks got %v", hook.finished)
		}
		if len(hook.started) != 5 {
			t.Errorf("hooks got %d starts", len(hook.started))
		}
		time.Sleep(2 * time.Hour)
	})
}

func TestPanicOrGoexit_FailsOnlyItsRecord(t *testing.T) {
	virtual(t, func(t *testing.T) {
		results := invoke(t, 10*time.Second, standard(5), config{Concurrency: 2}, func(_ context.Context, r batch.Record) error {
			switch r.MessageID {
			case "m-0":
				panic(fmt.Errorf("wrapped: %w", io.ErrUnexpectedEOF))
			case "m-1":
				var nothing *batch.Record
				_ = nothing.Body
			case "m-2":
				runtime.Goexit()
			case "m-3":
				panic(nil)
			}
			return nil
		})
		wantOutcomes(t, results, batch.Retry, batch.Retry, batch.Retry, batch.Retry, batch.Succeeded)
		var panicked *batch.PanicError
		if !errors.As(results[0].Err, &panicked) || !errors.Is(results[0].Err, io.ErrUnexpectedEOF) {
			t.Errorf("panic with an error: %v", results[0].Err)
		}
		if !strings.Contains(string(panicked.Stack), "run_test.go") {
			t.Errorf("the stack does not show where:\n%s", panicked.Stack)
		}
		var runtimeError runtime.Error
		if !errors.As(results[1].Err, &runtimeError) {
			t.Errorf("nil pointer: %v", results[1].Err)
		}
		if !errors.Is(results[2].Err, batch.ErrGoexit) {
			t.Errorf("Goexit: %v", results[2].Err)
		}
		var panicNil *runtime.PanicNilError
		if !errors.As(results[3].Err, &panicNil) {
			t.Errorf("panic(nil): %v", results[3].Err)
		}
	})
}

func TestGoexitOfEveryRecord_BatchEnds(t *testing.T) {
	results := invoke(t, time.Minute, standard(50), config{Concurrency: 3}, func(context.Context, batch.Record) error {
		runtime.Goexit()
		return nil
	})
	for _, r := range results {
		if !errors.Is(r.Err, batch.ErrGoexit) {
			t.Fatalf("%s: %v", r.Record.MessageID, r.Err)
		}
	}
}

func TestConcurrentRuns_ShareNothing(t *testing.T) {
	engine := newEngine(t, config{}, func(_ context.Context, r batch.Record) error {
		if r.Attempt > 1 {
			return errors.New("again")
		}
		return nil
	})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			records := standard(100)
			for i := range records {
				records[i].Attempt = 1 + i%2
			}
			for i, r := range engine.Run(t.Context(), records, runner.Options{}) {
				if want := []batch.Outcome{batch.Succeeded, batch.Retry}[i%2]; r.Outcome != want {
					t.Errorf("record %d: %v, want %v", i, r.Outcome, want)
				}
			}
		})
	}
	wg.Wait()
}

func TestHooksThatPanicAreContained(t *testing.T) {
	var hook recorder
	results := invoke(t, 0, standard(1), config{Hooks: testhooks.Of(badHook{}, &hook)}, func(context.Context, batch.Record) error { return nil })
	if results[0].Outcome != batch.Succeeded || len(hook.finished) != 1 {
		t.Errorf("%v, other hooks told %v", results[0].Outcome, hook.finished)
	}
	if len(hook.warnings) != 2 || hook.warnings[0].Queue != "orders" {
		t.Errorf("warned %+v, want one each for start and finish, of the queue", hook.warnings)
	}
	var none hooks.Set // what settles has that by default
	none.BatchSettled(t.Context(), batch.BatchInfo{}, nil)
	none.Warn(t.Context(), batch.Warning{})
}

type badHook struct{}

func (badHook) RecordContext(context.Context, *batch.Record) context.Context { panic("start") }

func (badHook) RecordFinished(context.Context, batch.Result) { panic("finish") }

func (badHook) Warned(context.Context, batch.Warning) { panic("warned") }
