package longpoll_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
)

// Deletes that are refused meanwhile hold receiving back for as long as they
// last, and nothing that was handled is handled again.
func TestAbortWhileDeletesAreRefused(t *testing.T) {
	for _, lasts := range []time.Duration{20 * time.Second, 3 * time.Minute} { // and the abort a minute
		inWorld(t, standardQueue, aborting(20, time.Minute), oneSlot, func(w *world) {
			w.Send(numbered(40, "")...)
			w.start()
			w.after(195 * time.Millisecond)
			w.inject(sqs.Fault{Kind: sqs.Failure, Operation: deletion, Code: "AccessDenied"})
			w.after(lasts)
			if s := w.p.Status(); s.Undeleted == 0 || s.Counts.Failed != 1 {
				t.Fatalf("%+v: the test tests nothing", s)
			}
			receives := w.count(receiving)
			if n := w.deleted(); n == 0 || n >= 20 {
				t.Fatalf("%d deleted: the test tests nothing", n)
			}
			w.Server().ClearFaults()
			w.after(time.Minute - min(lasts, 59*time.Second) - time.Second)
			if n := w.count(receiving) - receives; n != 0 {
				t.Errorf("%d receives while it is aborted", n)
			}
			w.after(5 * time.Minute)
			if n := w.deleted(); n != 40 || len(w.bodies()) != 41 {
				t.Errorf("%d of 40 deleted, %d handled, want 41", n, len(w.bodies()))
			}
		})
	}
}

// What runs is extended, whatever was aborted, and its success counts.
func TestAbortExtendsWhatRuns(t *testing.T) {
	h := func(_ context.Context, r batch.Record) error {
		if r.Body == "long" {
			time.Sleep(5 * time.Minute)
			return nil
		}
		time.Sleep(time.Second)
		if r.Attempt == 1 {
			return batch.Abort(10*time.Minute, nil)
		}
		return nil
	}
	inWorld(t, standardQueue, h, func(c *longpoll.Config) { c.Visibility = 30 * time.Second }, func(w *world) {
		w.Send("long", "down")
		w.start()
		w.after(11 * time.Minute)
		if n := w.deleted(); n != 2 || len(w.bodies()) != 3 || len(w.Events(sqs.Returned)) != 1 {
			t.Errorf("%d of 2 deleted, handled %q, %d visible in between, want the one that aborted", n, w.bodies(), len(w.Events(sqs.Returned)))
		}
	})
}

// A stop in the middle waits for what runs alone, and gives the rest back at
// once: another process may take it.
func TestAbortThenStop(t *testing.T) {
	h := func(_ context.Context, r batch.Record) error {
		if r.GroupID == "a" {
			time.Sleep(100 * time.Millisecond) // the other one runs as well
			return batch.Abort(time.Hour, nil)
		}
		time.Sleep(10 * time.Second)
		return nil
	}
	inWorld(t, fifoQueue, h, func(c *longpoll.Config) { c.Engine.Concurrency = 2 }, func(w *world) {
		w.Send("b:1", "b:2", "b:3", "a:1")
		w.start()
		w.after(5 * time.Second)
		if took := w.stop(); took < 4*time.Second || took > 6*time.Second {
			t.Errorf("the stop took %v, want what the handler does", took)
		}
		if got := fmt.Sprint(w.outcomes()); got != "[retry succeeded not-started not-started]" {
			t.Errorf("the hooks got %s", got)
		}
		if n := w.visible(); n != 0 {
			t.Errorf("%d are visible, want none: those behind what ran come back when the abort is over", n)
		}
		if drift := w.p.Drift(); drift != "" {
			t.Error(drift)
		}
	})
}

// It does not wait for a burial either.
func TestAbortBeforeTheBurial(t *testing.T) {
	h := func(_ context.Context, r batch.Record) error {
		if r.GroupID == "a" {
			time.Sleep(20 * time.Millisecond) // the other one runs as well
			return batch.Abort(time.Minute, nil)
		}
		time.Sleep(50 * time.Millisecond)
		return nil
	}
	inWorld(t, fifoQueue, h, func(c *longpoll.Config) {
		c.Engine.Concurrency, c.Failures.MaxReceiveCount = 2, 1
	}, func(w *world) {
		w.Send("b:1", "a:1", "a:2", "b:2", "b:3", "b:4")
		w.inject(sqs.Fault{Kind: sqs.Latency, Operation: "SendMessageBatch", Latency: 2 * time.Second})
		w.start()
		w.after(10 * time.Second)
		if n := len(w.bodies()); n != 2 {
			t.Errorf("handled %q, want b:1 and a:1", w.bodies())
		}
		if n := w.p.Status().Counts.Failed; n != 1 || len(w.DeadLetters()) != 1 {
			t.Errorf("%d failed, %d buried, want 1 and 1", n, len(w.DeadLetters()))
		}
		w.after(51500 * time.Millisecond) // counted from the failure, not from the end of the burial
		if n := len(w.bodies()); n == 2 {
			t.Error("nothing was started a minute after the abort")
		}
	})
}
