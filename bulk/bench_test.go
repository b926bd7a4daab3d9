package bulk_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/bulk"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/internal/hooks"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/test/testqueue"
)

// sink is what records are written to: a call takes 5 ms, however many it is given.
type sink struct {
	mu    sync.Mutex
	calls int
	last  time.Time // when the last call returned
}

func (s *sink) write() error {
	time.Sleep(5 * time.Millisecond)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls, s.last = s.calls+1, time.Now()
	return nil
}

// figures are those of one way to write records.
type figures struct {
	calls int
	took  time.Duration
}

// TestAgainstSingleRecords compares 100 records a call with one, in virtual time:
// the figures of BENCHMARKS.md.
func TestAgainstSingleRecords(t *testing.T) {
	single := func(s *sink) batch.Handler {
		return batch.JSON(func(context.Context, order) error { return s.write() })
	}
	many := func(s *sink) batch.Handler {
		return bulk.JSON(func(context.Context, []bulk.Item[order]) error { return s.write() }, bulk.Config{MaxItems: 100})
	}
	for _, c := range []struct {
		name   string
		run    func(*testing.T, int, func(*sink) batch.Handler) figures
		n      int
		calls  int // at most
		faster int
	}{
		{"an invocation", onLambda, 100, 1, 10}, {"an invocation", onLambda, 1000, 10, 10}, {"a long poll", inContainer, 2000, 100, 4},
	} {
		one, own := c.run(t, c.n, single), c.run(t, c.n, many)
		t.Logf("%s of %d records: %d calls in %v, one by one %d calls in %v: %.1f × faster, 1/%d of the calls",
			c.name, c.n, own.calls, own.took, one.calls, one.took, float64(one.took)/float64(own.took), one.calls/own.calls)
		if own.calls > c.calls || one.took < time.Duration(c.faster)*own.took {
			t.Errorf("%s of %d records: %+v, one by one %+v", c.name, c.n, own, one)
		}
	}
}

func records(n int) []batch.Record {
	list := make([]batch.Record, n)
	for i := range list {
		list[i] = batch.Record{MessageID: fmt.Sprint("m-", i), QueueARN: "arn:aws:sqs:eu-west-1:1:q", Body: `{"N":12}`}
	}
	return list
}

func onLambda(t *testing.T, n int, make func(*sink) batch.Handler) (f figures) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{}
		engine := runner.New(make(s), runner.Config{}, &hooks.Set{})
		began := time.Now()
		for _, r := range engine.Run(t.Context(), records(n), runner.Options{}) {
			if r.Outcome != batch.Succeeded {
				t.Fatal(r.Outcome, r.Err)
			}
		}
		f = figures{s.calls, s.last.Sub(began)}
	})
	return f
}

// inContainer has calls to SQS take 5 ms, too.
func inContainer(t *testing.T, n int, make func(*sink) batch.Handler) (f figures) {
	synctest.Test(t, func(t *testing.T) {
		s, q := &sink{}, testqueue.New(t, testqueue.Standard)
		q.Send(slices.Repeat([]string{`{"N":12}`}, n)...)
		q.Fault = func(string, *http.Request) (*http.Response, error) { time.Sleep(5 * time.Millisecond); return nil, nil }
		began := time.Now()
		q.Poll(t.Context(), time.Minute, make(s), handler.Config{})
		f = figures{s.calls, s.last.Sub(began)}
	})
	return f
}

// BenchmarkRecords is what gathering costs: n records decoded from JSON, for a
// function that does nothing, by the same engine.
func BenchmarkRecords(b *testing.B) {
	const n = 1000
	list := records(n)
	for name, h := range map[string]batch.Handler{
		"single":            batch.JSON(func(context.Context, order) error { return nil }),
		"bulk":              bulk.JSON(func(context.Context, []bulk.Item[order]) error { return nil }, bulk.Config{}),
		"single-that-waits": batch.JSON(func(context.Context, order) error { time.Sleep(time.Microsecond); return nil }),
	} {
		b.Run("impl="+name, func(b *testing.B) {
			engine := runner.New(h, runner.Config{Concurrency: 200}, &hooks.Set{})
			b.ReportAllocs()
			for b.Loop() {
				engine.Run(context.Background(), list, runner.Options{})
			}
		})
	}
}
