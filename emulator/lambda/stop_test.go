package lambda_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/lambda"
)

// At the end the open receive is given up, what was not invoked is visible
// again at once, and what runs is settled.
func TestStop(t *testing.T) {
	virtual(t, func(w *world) {
		url := w.queue("orders", 300)
		d := w.function(lambda.Function{Timeout: 30 * time.Second}, taking(20*time.Second))
		stop := w.run(lambda.Mapping{Function: d, QueueURL: url, BatchSize: 20, Window: 60 * time.Second})
		w.send(url, numbered(23)...)
		w.after(10 * time.Second)
		w.wantTimes("0s:20")
		stopped := make(chan struct{})
		go func() { defer close(stopped); stop() }()
		w.after(10*time.Second + time.Millisecond)
		if got := w.visible(url); len(got) != 3 {
			t.Errorf("released %v, want the 3 that waited", got)
		}
		<-stopped
		if took := time.Since(w.begin); took != 20*time.Second {
			t.Errorf("Run ended after %v, want the invocation's end", took)
		}
		if len(w.deleted) != 20 {
			t.Errorf("deleted %d, want 20", len(w.deleted))
		}
		w.wantTimes("0s:20")
	})
}

func TestStopWhileThrottled(t *testing.T) {
	virtual(t, func(w *world) {
		url := w.queue("orders", 300)
		d := w.function(lambda.Function{Concurrency: 1, Timeout: 30 * time.Second}, taking(20*time.Second))
		w.send(url, numbered(20)...)
		w.runUntil(5*time.Second, lambda.Mapping{Function: d, QueueURL: url})
		w.wantTimes("0s:10")
		if got := w.visible(url); len(got) != 10 {
			t.Errorf("released %d, want 10", len(got))
		}
	})
}

// A long poll that finds nothing does not delay the end.
func TestStopWhileIdle(t *testing.T) {
	virtual(t, func(w *world) {
		w.runUntil(7*time.Second, lambda.Mapping{QueueURL: w.queue("orders", 30)})
		if took := time.Since(w.begin); took != 7*time.Second {
			t.Errorf("ended at %v, want 7s", took)
		}
	})
}

func TestClosedFunctionEndsTheMapping(t *testing.T) {
	virtual(t, func(w *world) {
		url := w.queue("orders", 30)
		d := w.function(lambda.Function{}, succeed)
		m := lambda.Mapping{Function: d, SQS: w.client, QueueURL: url, BatchSize: 100, Window: time.Minute}
		done := make(chan error, 1)
		go func() { done <- m.Run(w.ctx) }()
		w.send(url, "a")
		w.after(time.Second)
		_ = d.Close()
		if err := <-done; !errors.Is(err, lambda.ErrClosed) {
			t.Errorf("Run: %v, want ErrClosed", err)
		}
		if got := w.visible(url); !slices.Equal(got, []string{"a"}) {
			t.Errorf("in the queue %v, want what was held", got)
		}
	})
}
