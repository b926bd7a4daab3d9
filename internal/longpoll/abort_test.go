package longpoll_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
	"github.com/sqsbatch/sqsbatch/test/testhooks"
)

// outage is a handler whose dependency is down until a moment.
type outage struct{ until atomic.Int64 }

func (o *outage) begins(d time.Duration) { o.until.Store(time.Now().Add(d).UnixNano()) }
func (o *outage) handle(ctx context.Context, r batch.Record) error {
	time.Sleep(10 * time.Millisecond)
	if time.Now().UnixNano() < o.until.Load() {
		return batch.Abort(time.Minute, errors.New("down"))
	}
	return nil
}

// While a handler asks to wait nothing is received, what waited is not started,
// and after that everything is handled.
func TestAbortPutsOffWhatWasNotStarted(t *testing.T) {
	for _, fifo := range []bool{false, true} {
		var o outage
		inWorld(t, fifo, o.handle, func(c *longpoll.Config) { c.Engine.Concurrency = 2 }, func(w *world) {
			w.Send(numbered(200, "")...)
			w.start()
			w.after(300 * time.Millisecond)
			w.needsWaiting()
			o.begins(30 * time.Second)
			w.after(100 * time.Millisecond)
			s := w.p.Status()
			if s.State != "aborted" || s.Running+s.Waiting+s.Undeleted != 0 || s.Counts.Failed > 2 {
				t.Errorf("%+v", s)
			}
			handled, receives := len(w.bodies()), w.count(receiving)
			w.after(58 * time.Second)
			if n := len(w.bodies()) - handled; n != 0 {
				t.Errorf("%d handled meanwhile", n)
			}
			if n := w.count(receiving) - receives; n != 0 {
				t.Errorf("%d receives meanwhile", n)
			}
			w.after(5 * time.Minute)
			if n := w.deleted(); n != 200 || w.p.Status().State != "polling" {
				t.Errorf("%d of 200 deleted afterwards, %s", n, w.p.Status().State)
			}
			if warned := w.warningsWith("batch.Abort"); len(warned) != 1 {
				t.Errorf("%q", warned)
			}
			most := 0
			for _, e := range w.Events(sqs.Received) {
				most = max(most, e.ReceiveCount)
			}
			if most > 2 {
				t.Errorf("a record was delivered %d times", most)
			}
		})
	}
}

// No record of a group overtakes another.
func TestAbortKeepsTheOrderOfGroups(t *testing.T) {
	const groupsOf, each = 5, 20
	var o outage
	var g groups
	inWorld(t, fifoQueue, g.around(o.handle), func(c *longpoll.Config) { c.Engine.Concurrency = 3 }, func(w *world) {
		w.noRedrive()
		var bodies []string
		for n := range each {
			for group := range groupsOf {
				bodies = append(bodies, fmt.Sprintf("g%d:%d", group, n))
			}
		}
		w.Send(bodies...)
		w.start()
		w.after(60 * time.Millisecond)
		o.begins(270 * time.Second)
		w.after(20 * time.Minute)
		g.check(t, groupsOf, each)
		if n := len(w.warningsWith("batch.Abort")); n != 5 {
			t.Errorf("%d aborts: the test tests nothing", n)
		}
	})
}

// What an open receive brings meanwhile is not handled either, and a stop waits
// for none of it.
func TestAbortWhileAReceiveIsOpen(t *testing.T) {
	var o outage
	inWorld(t, standardQueue, o.handle, nil, func(w *world) {
		w.start()
		o.begins(time.Second)
		w.Send("a")
		w.after(50 * time.Millisecond) // the next receive was opened when a came
		w.Send("b")
		w.after(50 * time.Millisecond)
		if got := strings.Join(w.bodies(), " "); got != "a" && got != "a b" {
			t.Errorf("handled: %q", got)
		}
		w.stopWithin(time.Second)
		if w.visible() != 0 {
			t.Error("something is visible before the time of the abort")
		}
		w.after(time.Minute)
		w.wantVisible(2)
	})
}

// A record that is tried and succeeds ends the trial: the others start then, and not at the trial's end.
// A success of a record that was started before the abort says nothing.
func TestTrialEndsWithItsRecord(t *testing.T) {
	h := func(_ context.Context, r batch.Record) error {
		switch {
		case r.Body == "aborts" && r.Attempt == 1:
			return batch.Abort(time.Minute, errors.New("down")) // until 61 s, the trial until 71 s
		case r.Body == "slow":
			time.Sleep(65 * time.Second) // until 65 s
		default:
			time.Sleep(3 * time.Second) // one is tried until 68 s, when no other runs
		}
		return nil
	}
	inWorld(t, standardQueue, h, nil, func(w *world) {
		w.Send("slow")
		w.start()
		w.after(time.Second)
		w.Send("aborts")
		w.after(time.Second)
		w.Send(numbered(5, "")...)
		for _, test := range []struct {
			at      float64
			handled int
		}{{60, 2}, {67, 3}, {69, 3 + 5}} {
			w.after(time.Duration(test.at-w.seconds()) * time.Second)
			if n := len(w.bodies()); n != test.handled {
				t.Errorf("after %.0f s %d were started, want %d", test.at, n, test.handled)
			}
		}
	})
}

// After the time of an abort one record is tried. What waits for the end of an
// outage keeps its attempts.
func TestAbortIsFollowedByAProbe(t *testing.T) {
	for _, fifo := range []bool{false, true} {
		var o outage
		inWorld(t, fifo, o.handle, func(c *longpoll.Config) { c.Engine.Concurrency = 20 }, func(w *world) {
			w.Send(numbered(200, "")...)
			o.begins(time.Hour)
			w.start()
			w.after(59 * time.Minute)
			received := len(w.Events(sqs.Received))
			if most := 59 + 100; received > most || received < 59 {
				t.Errorf("%d deliveries in an outage of 59 min, want about one a minute (%d)", received, most)
			}
			handled := len(w.bodies())
			w.after(2 * time.Minute)
			if s := w.p.Status(); s.Counts.Succeeded < 150 || s.State != "polling" {
				t.Errorf("%d succeeded after the outage, %d handled before, %s", s.Counts.Succeeded, handled, s.State)
			}
			w.after(10 * time.Minute)
			if n := w.deleted(); n < 180 {
				t.Errorf("%d of 200 were handled, the others are dead letters: each minute can cost one of them an attempt", n)
			}
		})
	}
}

// A record that takes its time is no reason to leave the other slots idle for long.
func TestAbortsProbeHasAnEnd(t *testing.T) {
	var o outage
	h := func(ctx context.Context, r batch.Record) error {
		if err := o.handle(ctx, r); err != nil {
			return err
		}
		time.Sleep(10 * time.Minute)
		return nil
	}
	inWorld(t, standardQueue, h, nil, func(w *world) {
		o.begins(30 * time.Second)
		w.Send(numbered(30, "")...)
		w.start()
		w.after(60*time.Second + 9*time.Second)
		if s := w.p.Status(); s.Running != 1 || s.Waiting != 0 {
			t.Errorf("%d run and %d wait, want one alone", s.Running, s.Waiting)
		}
		w.after(3 * time.Second)
		if s := w.p.Status(); s.Running != 10 {
			t.Errorf("%d run, want 10", s.Running)
		}
	})
}

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
		w.wantDeleted(3)
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
		w.wantDeleted(3)
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
		w.wantDeleted(40)
	})
}

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
		w.wantVisible(0)
		if drift := w.p.Drift(); drift != "" {
			t.Error(drift)
		}
	})
}
