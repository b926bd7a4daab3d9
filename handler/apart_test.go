package handler_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/partialfailure"
	"github.com/sqsbatch/sqsbatch/test/testqueue"
)

// Records that come back together get different visibility timeouts before their handlers
// start, if SQS would deliver them again.
func TestApart_SeparatesWhatComesBackTogether(t *testing.T) {
	for name, test := range map[string]struct {
		fifo     bool
		attempts []int
		apart    []int // positions that get a timeout of their own
	}{
		"first attempts":  {attempts: []int{1, 1, 2, 2}},
		"one comes back":  {attempts: []int{1, 3, 1, 2}},
		"several":         {attempts: []int{1, 3, 4, 3}, apart: []int{1, 2, 3}},
		"two come back":   {attempts: []int{1, 3, 3, 1}, apart: []int{1, 2}},
		"last attempts":   {attempts: []int{5, 5, 5, 5}},
		"one FIFO group":  {fifo: true, attempts: []int{3, 3}},
		"two FIFO groups": {fifo: true, attempts: []int{3, 3, 4}, apart: []int{0, 1, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := testqueue.New(t, test.fifo)
				bodies := []string{"a:0", "a:1", "b:2", "c:3"}[:len(test.attempts)]
				q.Send(bodies...)
				records := q.Receive(len(bodies))
				slices.SortFunc(records, func(a, b batch.Record) int { return int(a.Body[2]) - int(b.Body[2]) })
				for i := range records {
					records[i].Attempt = test.attempts[i]
				}
				received := time.Now()
				h := newHandler(t, batch.HandlerFunc(func(context.Context, batch.Record) error {
					hidden := map[string]time.Duration{}
					for _, s := range q.Server().Snapshot() {
						for _, m := range s.Messages {
							hidden[m.Body] = m.VisibleAt.Sub(received)
						}
					}
					var seen []time.Duration
					for i, body := range bodies {
						d := hidden[body]
						switch {
						case !slices.Contains(test.apart, i) && d != testqueue.Visibility:
							t.Errorf("%s is hidden for %v, want its %v", body, d, testqueue.Visibility)
						case slices.Contains(test.apart, i) && (d < testqueue.Visibility || d > 3*testqueue.Visibility):
							t.Errorf("%s is hidden for %v", body, d)
						case slices.Contains(test.apart, i) && slices.Contains(seen, d) != (test.fifo && i == 1):
							t.Errorf("%s is hidden for %v, others for %v", body, d, seen)
						}
						if slices.Contains(test.apart, i) {
							seen = append(seen, d)
						}
					}
					if name == "several" {
						return errors.New("no")
					}
					return nil
				}), handler.Config{SQS: q.Client, Failures: partialfailure.Config{Backoff: func(int) time.Duration { return 10 * time.Second }}})
				q.ForgetCalls()
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				if _, err := h.Invoke(ctx, testqueue.Event(records)); err != nil {
					t.Fatal(err)
				}
				if name == "several" { // whose failures come back after their backoff
					for _, e := range q.Events(sqs.Visibility)[len(test.apart):] {
						if e.Visibility != 10*time.Second {
							t.Errorf("%s comes back in %v", e.Body, e.Visibility)
						}
					}
				}
				if calls := slices.Contains(q.Calls(), "ChangeMessageVisibilityBatch"); calls != (test.apart != nil) {
					t.Errorf("calls: %v", q.Calls())
				}
			})
		})
	}
}

// A call that SQS does not answer delays the handlers by a part of the function's time.
func TestApart_SQSHangs_HandlersStartInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := testqueue.New(t, testqueue.Standard)
		q.Send("1", "2")
		records := q.Receive(2)
		for i := range records {
			records[i].Attempt = 3
		}
		q.Fault = func(_ string, r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}
		began := time.Now()
		handled := 0
		h := newHandler(t, batch.HandlerFunc(func(context.Context, batch.Record) error {
			if handled++; time.Since(began) > 2*time.Second {
				t.Errorf("a handler starts after %v", time.Since(began))
			}
			return nil
		}), handler.Config{SQS: q.Client, Concurrency: 1})
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		answer, err := h.Invoke(ctx, testqueue.Event(records))
		if err != nil || string(answer) != `{"batchItemFailures":[]}` || handled != 2 {
			t.Errorf("%s, %v; %d handled", answer, err, handled)
		}
		time.Sleep(time.Minute)
	})
}
