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
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/internal/testqueue"
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

// TestAgainstSingleRecords compares 100 records a call with one, in virtual time:
// the figures of BENCHMARKS.md.
func TestAgainstSingleRecords(t *testing.T) {
	single := func(s *sink, _ int) batch.Handler {
		return batch.JSON(func(context.Context, order) error { return s.write() })
	}
	many := func(s *sink, n int) batch.Handler {
		return bulk.JSON(func(context.Context, []bulk.Item[order]) error { return s.write() }, bulk.Config{MaxItems: n})
	}
	for _, n := range []int{100, 1000} {
		singleCalls, singleTime := onLambda(t, n, single)
		calls, took := onLambda(t, n, many)
		t.Logf("an invocation of %d records: %d calls in %v, one by one %d calls in %v: %d × faster, 1/%d of the calls",
			n, calls, took, singleCalls, singleTime, singleTime/took, singleCalls/calls)
		if calls != n/100 || singleTime < 10*took {
			t.Errorf("%d records: %d calls in %v, one by one %v", n, calls, took, singleTime)
		}
	}
	singleCalls, singleTime := inContainer(t, 2000, single)
	calls, took := inContainer(t, 2000, many)
	t.Logf("a long poll over 2000 messages: %d calls in %v, one by one %d calls in %v: %.1f × faster, 1/%d of the calls",
		calls, took, singleCalls, singleTime, float64(singleTime)/float64(took), singleCalls/calls)
	if calls > 100 || singleTime < 4*took {
		t.Errorf("a long poll: %d calls in %v, one by one %v", calls, took, singleTime)
	}
}

func records(n int) []batch.Record {
	list := make([]batch.Record, n)
	for i := range list {
		list[i] = batch.Record{MessageID: fmt.Sprint("m-", i), QueueARN: "arn:aws:sqs:eu-west-1:1:q", Body: `{"N":12}`}
	}
	return list
}

func onLambda(t *testing.T, n int, make func(*sink, int) batch.Handler) (calls int, took time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{}
		engine, err := runner.New(make(s, 100), batch.Config{})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for _, r := range engine.Run(t.Context(), records(n), batch.Times{}, nil) {
			if r.Outcome != batch.Succeeded {
				t.Fatal(r.Outcome, r.Err)
			}
		}
		calls, took = s.calls, s.last.Sub(began)
	})
	return calls, took
}

// inContainer has calls to SQS take 5 ms, too.
func inContainer(t *testing.T, n int, make func(*sink, int) batch.Handler) (calls int, took time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		s, q := &sink{}, testqueue.New(t, testqueue.Standard)
		q.Send(slices.Repeat([]string{`{"N":12}`}, n)...)
		q.Fault = func(string, *http.Request) (*http.Response, error) { time.Sleep(5 * time.Millisecond); return nil, nil }
		began := time.Now()
		q.Poll(t.Context(), time.Minute, make(s, 100), handler.Config{})
		calls, took = s.calls, s.last.Sub(began)
	})
	return calls, took
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
			engine, err := runner.New(h, batch.Config{Concurrency: 200})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				engine.Run(context.Background(), list, batch.Times{}, nil)
			}
		})
	}
}
