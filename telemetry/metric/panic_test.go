package metric_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/hooks"
	"github.com/sqsbatch/sqsbatch/telemetry/metric"
)

// frail is an adapter whose report panics while told to.
type frail struct {
	*metric.Reporter
	mu     sync.Mutex
	panics int
	had    map[string]float64 // records reported, by queue
}

func newFrail(panics int) *frail {
	f := &frail{panics: panics, had: map[string]float64{}}
	f.Reporter = metric.NewReporter(time.Minute, func(_ context.Context, a *metric.Aggregate) {
		a.Take(func(queue string, s *metric.Summary) {
			f.mu.Lock()
			defer f.mu.Unlock()
			if f.panics > 0 {
				f.panics--
				panic("a writer's")
			}
			s.Counts(func(m *metric.Metric, value float64) {
				if m == metric.RecordsSucceeded {
					f.had[queue] += value
				}
			})
		})
	})
	return f
}

func (f *frail) reported(queue string) float64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.had[queue]
}

// told are the warnings of a set of hooks.
type told struct {
	mu   sync.Mutex
	list []string
}

func (w *told) Warned(_ context.Context, warning batch.Warning) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, warning.Message+": "+warning.Err.Error())
}

func (w *told) once(t *testing.T, parts ...string) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.list) != 1 {
		t.Fatalf("%d warnings, want 1: %q", len(w.list), w.list)
	}
	for _, part := range parts {
		if !strings.Contains(w.list[0], part) {
			t.Errorf("warned %q, want %q in it", w.list[0], part)
		}
	}
}

func settleIn(t *testing.T, queue string, hooks *hooks.Set) {
	results := []batch.Result{{Record: &batch.Record{QueueARN: queue}, Outcome: batch.Succeeded, Started: time.Now()}}
	hooks.BatchSettled(t.Context(), batch.BatchInfo{QueueARN: queue}, results)
}

func frailHooks(t *testing.T, f *frail) (*hooks.Set, *told) {
	t.Helper()
	w := &told{}
	hooks, err := hooks.New(f, w)
	if err != nil {
		t.Fatal(err)
	}
	return hooks, w
}

// A flush whose report panics loses that report, and is told; later ones go on.
func TestAFlushThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFrail(1)
		hooks, w := frailHooks(t, f)
		for range 6 {
			settleIn(t, orders, hooks)
			hooks.Flush(t.Context())
		}
		if n := f.reported(batch.QueueName(orders)); n != 5 {
			t.Errorf("%v records reported, want those of the 5 reports after the one that panicked", n)
		}
		w.once(t, "*metric_test.frail panicked", "a writer's")
	})
}

// A report that panics at the end of an interval ends no process, and is told
// when the hook is called next. What it was not given is reported later, though
// nothing happens any more.
func TestAReportThatPanics(t *testing.T) {
	for _, tell := range []string{"BatchSettled", "Called", "Flush"} {
		t.Run(tell, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFrail(1)
				hooks, w := frailHooks(t, f)
				settleIn(t, orders, hooks)
				settleIn(t, orders+"2", hooks)
				time.Sleep(3 * time.Minute)
				if first, second := f.reported(batch.QueueName(orders)), f.reported(batch.QueueName(orders+"2")); first != 0 || second != 1 {
					t.Errorf("%v and %v records reported, want 0 (lost) and 1", first, second)
				}
				switch tell {
				case "BatchSettled":
					settleIn(t, orders, hooks)
				case "Called":
					hooks.Called(t.Context(), batch.Call{Operation: "ReceiveMessage", QueueARN: orders, Started: time.Now()})
				case "Flush":
					hooks.Flush(t.Context())
				}
				w.once(t, "*metric_test.frail panicked", "a report of metrics panicked: a writer's", "panic_test.go")
				settleIn(t, orders, hooks)
				time.Sleep(time.Hour)
				if n := f.reported(batch.QueueName(orders)); n < 1 {
					t.Errorf("%v records reported after the panic", n)
				}
				w.once(t)
			})
		})
	}
}
