package metric_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/hooks"
	"github.com/sqsbatch/sqsbatch/sender"
	"github.com/sqsbatch/sqsbatch/telemetry/metric"
	"github.com/sqsbatch/sqsbatch/test/testhooks"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type reports struct {
	*metric.Reporter
	began time.Time

	mu    sync.Mutex
	at    []time.Duration
	had   []float64
	takes time.Duration

	panics int // so many visits of a queue panic
}

func (r *reports) take(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.takes = d
}

// of are the records of each report with any.
func (r *reports) of() []float64 {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.had), func(n float64) bool { return n == 0 })
}

func newReports(every time.Duration) *reports {
	r := &reports{began: time.Now()}
	r.Reporter = metric.NewReporter(every, func(_ context.Context, a *metric.Aggregate) {
		r.mu.Lock()
		takes := r.takes
		r.mu.Unlock()
		time.Sleep(takes)
		n := 0.0
		a.Take(func(_ string, s *metric.Summary) {
			if r.panics > 0 {
				r.panics--
				panic("a writer's")
			}
			s.Counts(func(m *metric.Metric, value float64) {
				if m == metric.RecordsSucceeded {
					n += value
				}
			})
		})
		r.mu.Lock()
		defer r.mu.Unlock()
		r.at, r.had = append(r.at, time.Since(r.began)), append(r.had, n)
	})
	return r
}

func (r *reports) settle() {
	r.Hooks().BatchSettled(context.Background(), batch.BatchInfo{}, []batch.Result{{Record: &batch.Record{}, Outcome: batch.Succeeded, Started: time.Now()}})
}

func TestReportsFollowTheInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReports(time.Minute)
		time.Sleep(time.Hour) // nothing to report
		for range 3 {
			r.settle()
			time.Sleep(25 * time.Second)
		}
		time.Sleep(time.Hour)
		r.settle()
		time.Sleep(time.Second)
		r.Hooks().Flush(t.Context())
		time.Sleep(time.Hour)
		last := 2*time.Hour + 76*time.Second
		if !slices.Equal(r.at, []time.Duration{time.Hour + time.Minute, last}) || !slices.Equal(r.of(), []float64{3, 1}) {
			t.Errorf("reports at %v of %v", r.at, r.had)
		}
	})
}

// Each observation alone makes a report after the interval.
func TestOneObservationIsReported(t *testing.T) {
	for name, observe := range map[string]func(*reports){
		"call":          func(r *reports) { r.Hooks().Called(t.Context(), batch.Call{Operation: "ReceiveMessage"}) },
		"sender's call": func(r *reports) { r.SenderCalled(sender.Call{Entries: 1}) },
		"warning":       func(r *reports) { r.Hooks().Warned(t.Context(), batch.Warning{}) },
		"settled batch": (*reports).settle,
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newReports(time.Minute)
			observe(r)
			time.Sleep(time.Hour)
			r.mu.Lock()
			defer r.mu.Unlock()
			if !slices.Equal(r.at, []time.Duration{time.Minute}) {
				t.Errorf("%s: reports at %v", name, r.at)
			}
		})
	}
}

// Without an interval only a flush reports, however much later.
func TestReportsWithoutAnInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReports(0)
		r.settle()
		r.Hooks().Called(t.Context(), batch.Call{Operation: "ChangeMessageVisibilityBatch"})
		r.Hooks().Warned(t.Context(), batch.Warning{})
		time.Sleep(time.Hour)
		if had := r.of(); len(had) != 0 {
			t.Errorf("reported before the flush: %v", had)
		}
		r.take(3 * time.Minute) // output that blocks
		go r.Hooks().Flush(t.Context())
		time.Sleep(time.Second)
		short, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		r.Hooks().Flush(short) // gives up, which leaves nothing behind that reports later
		time.Sleep(time.Hour)
		r.settle()
		time.Sleep(time.Hour)
		r.take(0)
		r.Hooks().Flush(t.Context())
		time.Sleep(time.Hour)
		if !slices.Equal(r.at, []time.Duration{time.Hour + 3*time.Minute, 3*time.Hour + 3*time.Second}) || !slices.Equal(r.of(), []float64{1, 1}) {
			t.Errorf("reports at %v of %v", r.at, r.had)
		}
	})
}

// A report is made at each full minute, however long one takes.
func TestReportsOnTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReports(time.Minute)
		time.Sleep(25 * time.Second)
		var ended atomic.Bool
		r.Hooks().Polling(t.Context(), orders, func() batch.Status {
			return batch.Status{Concurrency: 1, State: map[bool]string{true: "stopped"}[ended.Load()]}
		})
		r.take(3 * time.Second)
		time.Sleep(4 * time.Minute)
		ended.Store(true)
		time.Sleep(time.Hour)
		r.of()
		var want []time.Duration
		for n := range 5 {
			want = append(want, time.Duration(n+1)*time.Minute+3*time.Second)
		}
		if !slices.Equal(r.at, want) {
			t.Errorf("reports at %v, want %v", r.at, want)
		}
	})
}

// A report that takes long loses nothing, delays no record, and a flush once.
func TestAReportThatTakesLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReports(time.Minute)
		r.take(time.Hour)
		flush := func(at, until time.Duration) {
			t.Helper()
			time.Sleep(time.Until(r.began.Add(at)))
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			r.Hooks().Flush(ctx)
			if took := time.Since(r.began); took != until {
				t.Errorf("a flush at %v ended at %v, want %v", at, took, until)
			}
		}
		r.settle()
		time.Sleep(90 * time.Second) // a report goes on
		r.settle()
		if took := time.Since(r.began); took != 90*time.Second {
			t.Errorf("a batch took until %v", took)
		}
		flush(2*time.Minute, 2*time.Minute+2*time.Second) // as long as it may
		r.settle()
		flush(3*time.Minute, 3*time.Minute) // it is known to be slow
		r.take(0)
		time.Sleep(2 * time.Hour)
		if got := r.of(); !slices.Equal(got, []float64{3}) {
			t.Errorf("reports of %v records, want one of 3: what came meanwhile is in it", got)
		}
		r.settle()
		flush(4*time.Hour, 4*time.Hour)
		if got := r.of(); !slices.Equal(got, []float64{3, 1}) {
			t.Errorf("reports of %v records", got)
		}
	})
}

type told struct{ list []string }

func (w *told) Warned(_ context.Context, warning batch.Warning) {
	w.list = append(w.list, warning.Message+": "+warning.Err.Error())
}

func (w *told) once(t *testing.T, parts ...string) {
	t.Helper()
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
func panicky() (*hooks.Set, *reports, *told) {
	r, w := newReports(time.Minute), &told{}
	r.panics = 1
	return hooks.New(testhooks.Of(r, w)), r, w
}

func settleIn(t *testing.T, queue string, set *hooks.Set) {
	set.BatchSettled(t.Context(), batch.BatchInfo{QueueARN: queue}, []batch.Result{{Record: &batch.Record{}, Outcome: batch.Succeeded, Started: time.Now()}})
}

// A flush whose report panics loses that report, and the panic is reported; later ones go on.
func TestAFlushThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set, r, w := panicky()
		for range 6 {
			settleIn(t, orders, set)
			set.Flush(t.Context())
		}
		if got := r.of(); !slices.Equal(got, []float64{1, 1, 1, 1, 1}) {
			t.Errorf("reports of %v records, want the 5 after the one that panicked", got)
		}
		w.once(t, "the hook Flush panicked", "a writer's")
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
				set, r, w := panicky()
				settleIn(t, orders, set) // is lost
				settleIn(t, orders+"2", set)
				time.Sleep(3 * time.Minute)
				if got := r.of(); !slices.Equal(got, []float64{1}) {
					t.Errorf("reports of %v records, want that of the second queue", got)
				}
				tell(t, set)
				w.once(t, "the hook "+name+" panicked", "a report of metrics panicked: a writer's", "reporter_test.go")
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
