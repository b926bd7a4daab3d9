package settle_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/test/testqueue"
)

// unknowable has the queue never say its attributes.
func unknowable(op string, r *http.Request) (*http.Response, error) {
	if op == "GetQueueAttributes" {
		return testqueue.Answer(r, 403, "RequestThrottled", "")
	}
	return nil, nil
}

// A group whose head may be at its last attempt waits for the queue's answer for a moment,
// not for as long as the function may run.
func TestQueueThatDoesNotSayItsAttributes_HoldsNoGroupUp(t *testing.T) {
	for body, most := range map[string]time.Duration{"a:fail": 12 * time.Second, "a:never": 25 * time.Second} {
		inBubble(t, fifoQueue, func(f *fixture) {
			f.timeout = 15 * time.Minute
			f.Fault = unknowable
			f.Send(body, "a:after")
			began := time.Now()
			results := f.invoke(f.Receive(10), byBody)
			if took := time.Since(began); took > most {
				t.Errorf("%s: the batch took %v", body, took)
			}
			if results[0].Outcome != batch.Retry || results[1].Outcome != batch.Skipped {
				t.Errorf("%s: %v and %v, want retry and skipped", body, results[0].Outcome, results[1].Outcome)
			}
		})
	}
}

// The records of a call wait for the answer together.
func TestQueueThatDoesNotSayItsAttributes_DelaysACallOnce(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		f.settling.Backoff = nil
		f.engine.Concurrency = 10
		records := f.failures(10)
		var first time.Duration
		began := time.Now()
		f.Fault = func(op string, r *http.Request) (*http.Response, error) {
			if op == opVisibility && first == 0 {
				first = time.Since(began)
			}
			return unknowable(op, r)
		}
		f.invoke(records, func(ctx context.Context, r batch.Record) error { return byBody(ctx, r) })
		if first < time.Second || first > 1200*time.Millisecond {
			t.Errorf("the visibility was set after %v, want about 1 s", first)
		}
	})
}
