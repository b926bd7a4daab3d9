package longpoll_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
	"github.com/sqsbatch/sqsbatch/test/testhooks"
)

// aborting takes a moment for each record, and aborts with one of them, counted
// from 1.
func aborting(with int32, d time.Duration) handle {
	var calls atomic.Int32
	return func(context.Context, batch.Record) error {
		time.Sleep(10 * time.Millisecond)
		if calls.Add(1) == with {
			return batch.Abort(d, errors.New("down"))
		}
		return nil
	}
}

// deliveries is how often each message was received, by its body.
func (w *world) deliveries() map[string]int {
	most := map[string]int{}
	for _, e := range w.Events(sqs.Received) {
		most[e.Body] = max(most[e.Body], e.ReceiveCount)
	}
	return most
}

// settled are the results that the hooks got.
func (w *world) settled() []batch.Result {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.results)
}

// Without a time there is nothing to wait for, so that what waits is handled
// and not received again.
func TestAbortForNoTime(t *testing.T) {
	inWorld(t, standardQueue, aborting(20, 0), oneSlot, func(w *world) {
		w.Send(numbered(40, "")...)
		w.start()
		w.after(10 * time.Second)
		again := 0
		for _, n := range w.deliveries() {
			again += n - 1
		}
		if n := w.deleted(); n != 40 || again != 1 {
			t.Errorf("%d of 40 deleted, and %d deliveries more than messages, want 1, of the one that failed", n, again)
		}
		if warned := w.warningsWith("batch.Abort"); len(warned) != 0 {
			t.Errorf("%q", warned)
		}
	})
}

// A time counts in whole seconds, as for SQS: with less, a queue would be
// received and given back in a loop.
func TestAbortForLessThanASecond(t *testing.T) {
	h := func(context.Context, batch.Record) error { return batch.Abort(time.Millisecond, nil) }
	inWorld(t, standardQueue, h, oneSlot, func(w *world) {
		w.noRedrive()
		w.Send(numbered(50, "")...)
		w.start()
		w.after(10*time.Second + 500*time.Millisecond)
		if n := w.p.Status().Counts.Failed; n < 5 || n > 11 {
			t.Errorf("%d failed in 10 s, want one a second", n)
		}
		for body, n := range w.deliveries() {
			if n > 11 {
				t.Errorf("%s was delivered %d times in 10 s", body, n)
			}
		}
	})
}

// What is longer than SQS hides a message is 12 hours.
func TestAbortForHours(t *testing.T) {
	for _, d := range []time.Duration{13 * time.Hour, math.MaxInt64} {
		inWorld(t, standardQueue, aborting(20, d), oneSlot, func(w *world) {
			w.Send(numbered(40, "")...)
			w.start()
			w.after(11*time.Hour + 59*time.Minute)
			n, returned, s := len(w.bodies()), len(w.Events(sqs.Returned)), w.p.Status()
			if n != 20 || returned != 0 || s.State != "aborted" || s.Counts.Released == 0 {
				t.Errorf("%v: %d handled, %d visible, %d given back, %s", d, n, returned, s.Counts.Released, s.State)
			}
			w.after(2 * time.Minute)
			if n := w.deleted(); n != 40 {
				t.Errorf("%v: %d of 40 deleted after 12 h", d, n)
			}
		})
	}
}

// slowContext is a hook that takes 5 s for the batches of a group.
type slowContext string

func (s slowContext) BatchContext(ctx context.Context, _ batch.BatchInfo, records []batch.Record) context.Context {
	if records[0].GroupID == string(s) {
		time.Sleep(5 * time.Second)
	}
	return ctx
}

// A record whose hooks are being notified of its start goes on, and those behind it say why
// they were not started.
func TestAbortWhileHooksAreNotified_RecordGoesOn(t *testing.T) {
	inWorld(t, fifoQueue, aborting(1, time.Minute), func(c *longpoll.Config) {
		c.Engine.Concurrency = 2
		c.Hooks = batch.JoinHooks(c.Hooks, testhooks.Of(slowContext("b")))
	}, func(w *world) {
		w.Send("a:1", "b:1", "b:2")
		w.start()
		w.after(30 * time.Second)
		outcomes := w.outcomes()
		slices.Sort(outcomes)
		if want := []batch.Outcome{batch.Succeeded, batch.Retry, batch.NotStarted}; !slices.Equal(outcomes, want) {
			t.Errorf("the hooks got %v, want %v", outcomes, want)
		}
		for _, r := range w.settled() {
			if r.Outcome != batch.NotStarted {
				continue
			}
			v := batch.VerdictOf(r.Err)
			if !errors.Is(r.Err, batch.ErrAborted) || !errors.Is(r.Err, batch.ErrNotStarted) || errors.Is(r.Err, batch.ErrStopped) ||
				!v.Aborts || v.After != time.Minute {
				t.Errorf("%v", r.Err)
			}
		}
		w.after(time.Minute)
		if n := w.deleted(); n != 3 {
			t.Errorf("%d of 3 deleted after it", n)
		}
	})
}

// Of a group only the record that runs goes on; the rest says why.
func TestAbortTellsWhatWasNotStarted(t *testing.T) {
	h := func(_ context.Context, r batch.Record) error {
		if r.GroupID == "a" {
			time.Sleep(150 * time.Millisecond) // the other one runs as well
			return batch.Abort(time.Minute, errors.New("down"))
		}
		time.Sleep(10 * time.Second)
		return nil
	}
	inWorld(t, fifoQueue, h, func(c *longpoll.Config) { c.Engine.Concurrency = 2 }, func(w *world) {
		w.Send("b:1", "b:2", "b:3", "a:1")
		w.start()
		w.after(20 * time.Second)
		notStarted := 0
		for _, r := range w.settled() {
			if r.Outcome != batch.NotStarted {
				continue
			}
			notStarted++
			if r.Err.Error() != "not started: the batch was aborted: down" {
				t.Errorf("%v", r.Err)
			}
			if r.VisibleIn != time.Minute || !r.VisibilitySet {
				t.Errorf("%s comes back in %v", r.Record.Body, r.VisibleIn)
			}
		}
		if notStarted != 2 {
			t.Errorf("%d were not started, want 2", notStarted)
		}
		if s := w.p.Status(); s.Counts.Released != 2 {
			t.Errorf("%d released, want 2", s.Counts.Released)
		}
	})
}

// The longest of several counts; a pause goes on after it, and it after a pause.
func TestAbortsOneAfterAnother(t *testing.T) {
	times := map[string]time.Duration{"0": time.Minute, "1": 20 * time.Second, "2": 2 * time.Minute}
	h := func(_ context.Context, r batch.Record) error {
		if d := times[r.Body]; r.Attempt == 1 && d > 0 {
			time.Sleep(time.Second + d/100)
			return batch.Abort(d, nil)
		}
		return nil
	}
	inWorld(t, standardQueue, h, nil, func(w *world) {
		w.Send("0", "1", "2")
		w.start()
		w.after(5 * time.Second)
		receives := w.count(receiving)
		w.p.Pause()
		w.after(30 * time.Second)
		w.wantHealth("paused", 200, 200)
		w.p.Resume()
		w.wantHealth("aborted", 200, 200)
		w.after(85 * time.Second)
		if n := w.count(receiving) - receives; n != 0 {
			t.Errorf("%d receives within 2 minutes", n)
		}
		w.p.Pause()
		w.after(30 * time.Second)
		if n := w.count(receiving) - receives; n != 0 {
			t.Errorf("%d receives while it is paused, after the abort", n)
		}
		w.p.Resume()
		w.after(time.Second)
		w.wantHealth("polling", 200, 200)
		if n := w.deleted(); n != 3 {
			t.Errorf("%d of 3 deleted", n)
		}
	})
}

// What SQS does not take at first is given back later, for the rest of the time.
func TestAbortWhenGivingBackFails(t *testing.T) {
	inWorld(t, standardQueue, aborting(20, time.Minute), oneSlot, func(w *world) {
		w.Send(numbered(40, "")...)
		w.inject(sqs.Fault{Kind: sqs.Failure, Operation: "ChangeMessageVisibilityBatch", Times: 6})
		w.start()
		w.after(59 * time.Second)
		if n := len(w.Events(sqs.Returned)); n != 0 {
			t.Errorf("%d are visible before it is over", n)
		}
		if w.p.Status().Counts.Released == 0 {
			t.Error("nothing was given back: the test tests nothing")
		}
		w.after(4 * time.Second)
		if n := w.deleted(); n != 40 {
			t.Errorf("%d of 40 deleted after it", n)
		}
	})
}
