package metric_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/hooks"
)

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

// panicky returns the hooks of reports whose first visit of a queue panics.
func panicky(t *testing.T) (*hooks.Set, *reports, *told) {
	t.Helper()
	r, w := newReports(time.Minute), &told{}
	r.panics = 1
	set, err := hooks.New(r, w)
	if err != nil {
		t.Fatal(err)
	}
	return set, r, w
}

func settleIn(t *testing.T, queue string, set *hooks.Set) {
	results := []batch.Result{{Record: &batch.Record{QueueARN: queue}, Outcome: batch.Succeeded, Started: time.Now()}}
	set.BatchSettled(t.Context(), batch.BatchInfo{QueueARN: queue}, results)
}

// A flush whose report panics loses that report, and the panic is reported; later ones go on.
func TestAFlushThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set, r, w := panicky(t)
		for range 6 {
			settleIn(t, orders, set)
			set.Flush(t.Context())
		}
		if got := r.of(); !slices.Equal(got, []float64{1, 1, 1, 1, 1}) {
			t.Errorf("reports of %v records, want the 5 after the one that panicked", got)
		}
		w.once(t, "*metric_test.reports panicked", "a writer's")
	})
}

// A report that panics does not end the process, and the panic is reported at the hook's next call. What
// it was not given is reported later.
func TestAReportThatPanics(t *testing.T) {
	for name, tell := range map[string]func(*testing.T, *hooks.Set){
		"BatchSettled": func(t *testing.T, set *hooks.Set) { settleIn(t, orders, set) },
		"Called": func(t *testing.T, set *hooks.Set) {
			set.Called(t.Context(), batch.Call{Operation: "ReceiveMessage", QueueARN: orders, Started: time.Now()})
		},
		"Flush": func(t *testing.T, set *hooks.Set) { set.Flush(t.Context()) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				set, r, w := panicky(t)
				settleIn(t, orders, set) // is lost
				settleIn(t, orders+"2", set)
				time.Sleep(3 * time.Minute)
				if got := r.of(); !slices.Equal(got, []float64{1}) {
					t.Errorf("reports of %v records, want that of the second queue", got)
				}
				tell(t, set)
				w.once(t, "*metric_test.reports panicked", "a report of metrics panicked: a writer's", "reporter_test.go")
				settleIn(t, orders, set)
				time.Sleep(time.Hour)
				if got := r.of(); len(got) < 2 {
					t.Errorf("reports of %v records: none after the panic's", got)
				}
				w.once(t)
			})
		})
	}
}
