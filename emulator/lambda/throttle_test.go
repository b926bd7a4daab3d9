package lambda_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/sqsbatch/sqsbatch/emulator/lambda"
)

func TestMaximumConcurrency(t *testing.T) {
	virtual(t, func(w *world) {
		url := w.queue("orders", 300)
		var running, most atomic.Int32
		d := w.function(lambda.Function{Concurrency: 50}, func(context.Context, events.SQSEvent) (string, error) {
			n := running.Add(1)
			defer running.Add(-1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			time.Sleep(time.Second)
			return "", nil
		})
		w.send(url, numbered(70)...)
		w.runUntil(10*time.Second, lambda.Mapping{Function: d, QueueURL: url, MaximumConcurrency: 3})
		w.wantTimes("0s:10", "0s:10", "0s:10", "1s:10", "1s:10", "1s:10", "2s:10")
		if most.Load() != 3 {
			t.Errorf("%d invocations at once, want 3", most.Load())
		}
		w.wantDeleted(numbered(70)...)
	})
}

// While the function is throttled one batch waits, nothing else is received,
// and no attempt is spent.
func TestThrottledFunction(t *testing.T) {
	virtual(t, func(w *world) {
		url := w.queue("orders", 30)
		d := w.function(lambda.Function{Concurrency: 1, Timeout: 20 * time.Second}, taking(10*time.Second))
		w.send(url, numbered(40)...)
		w.runUntil(time.Minute, lambda.Mapping{Function: d, QueueURL: url})
		w.wantTimes("0s:10", "10s:10", "20s:10", "30s:10")
		w.wantDeleted(numbered(40)...)
		for _, i := range w.invocations {
			if i.Environment != 1 || i.ColdStart != (i.Started.Equal(w.begin)) {
				t.Errorf("environment %d, cold %v", i.Environment, i.ColdStart)
			}
			for _, r := range i.Records {
				if r.Attempt != 1 {
					t.Errorf("%s: attempt %d", r.Body, r.Attempt)
				}
			}
		}
		if len(w.pollErrors) > 0 {
			t.Errorf("errors %v", w.pollErrors)
		}
	})
}

// Throttled beyond their visibility, messages are the queue's again, and come
// back later.
func TestThrottledTooLong(t *testing.T) {
	virtual(t, func(w *world) {
		slow := 2
		d := w.function(lambda.Function{Concurrency: 1, Timeout: 20 * time.Second}, func(context.Context, events.SQSEvent) (string, error) {
			if slow--; slow >= 0 {
				time.Sleep(20*time.Second - 1)
			}
			return "", nil
		})
		one, two := w.queue("one", 30), w.queue("two", 30)
		w.send(one, "1a", "1b", "1c")
		w.send(two, "2a", "2b", "2c")
		stopOne := w.run(lambda.Mapping{Function: d, QueueURL: one, BatchSize: 1})
		stopTwo := w.run(lambda.Mapping{Function: d, QueueURL: two, BatchSize: 1})
		w.after(5 * time.Minute)
		stopOne()
		stopTwo()
		w.wantDeleted("1a", "1b", "1c", "2a", "2b", "2c")
		if len(w.pollErrors) == 0 {
			t.Error("nothing expired: the test shows nothing")
		}
		for _, e := range w.pollErrors {
			if e.Operation != "Invoke" || e.Messages != 1 {
				t.Errorf("error %v", e)
			}
		}
		attempts := 0
		for _, i := range w.invocations {
			attempts = max(attempts, i.Records[0].Attempt)
		}
		if attempts < 2 {
			t.Errorf("no message came a second time")
		}
	})
}
