package longpoll_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
)

// slowlyBehind is quick, so that records are received ahead, but takes slow for
// those of which the body begins with "slow".
func slowlyBehind(slow time.Duration) handle {
	return func(ctx context.Context, r batch.Record) error {
		d := time.Millisecond
		if strings.HasPrefix(r.Body, "slow") {
			d = slow
		}
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// oneSlot has one handler at a time.
func oneSlot(c *longpoll.Config) { c.Engine.Concurrency = 1 }

// sendAround sends quick records, a slow one, and eight that wait behind it.
func (w *world) sendAround() {
	w.inject(latency(5 * time.Millisecond))
	w.Send(numbered(30, "quick:1")...)
	w.Send("slow:1")
	w.Send(numbered(8, "after:1")...)
	w.start()
	w.after(5 * time.Second)
	w.needsWaiting()
}

// A throttle that ends soon costs what waits nothing, at a stop and at a pause.
func TestReleaseFails_IsRetried(t *testing.T) {
	for name, faults := range map[string][]sqs.Fault{
		"a few calls":  {{Kind: sqs.Throttled, Operation: extension, Times: 3}},
		"some entries": {{Kind: sqs.EntryFailure, Operation: extension, Times: 6}},
		"lost answers": {{Kind: sqs.LostAnswer, Operation: extension, Times: 3}},
	} {
		inWorld(t, standardQueue, slowlyBehind(10*time.Second), oneSlot, func(w *world) {
			w.sendAround()
			w.inject(faults...)
			w.stop()
			if n := w.visible(); n != 8 {
				t.Errorf("%s fail at a stop: %d of 8 are visible after it", name, n)
			}
			if list := w.warningsWith("made visible"); len(list) > 0 {
				t.Errorf("%s fail at a stop: warned %q, but all were released", name, list)
			}
		})
		inWorld(t, standardQueue, slowlyBehind(time.Minute), oneSlot, func(w *world) {
			w.sendAround()
			w.inject(faults...)
			w.p.Pause()
			w.after(15 * time.Second)
			if n := w.visible(); n != 8 {
				t.Errorf("%s fail at a pause: %d of 8 are visible 15 s later", name, n)
			}
		})
	}
}

// What cannot be released at a stop is named, and its hooks are notified once.
func TestStopCannotReleaseRecords_Warns(t *testing.T) {
	for _, fault := range []sqs.Fault{
		{Kind: sqs.Failure, Code: "AccessDeniedException"},
		{Kind: sqs.Hang},
		{Kind: sqs.Refused},
		{Kind: sqs.EntryFailure},
	} {
		inWorld(t, standardQueue, heeding, func(c *longpoll.Config) { c.DrainLimit = 8 * time.Second }, func(w *world) {
			w.Send("a", "b")
			w.start()
			w.after(5 * time.Second)
			fault.Operation = extension
			w.inject(fault)
			if took := w.stop(); took > 13*time.Second {
				t.Errorf("%s: the stop took %v, want at most DrainLimit + grace + 4 s", fault.Kind, took)
			}
			if list := w.warningsWith("2 records could not be made visible"); len(list) != 1 {
				t.Errorf("%s: not named: %q", fault.Kind, w.warnings)
			}
			w.wantOutcomes(batch.Retry, batch.Retry)
			if n := w.visible(); n != 0 {
				t.Errorf("%s: %d are visible: the test tests nothing", fault.Kind, n)
			}
		})
	}
}

// What runs at the limit is released ten to a call.
func TestDrainLimitReached_ReleasesGoInTens(t *testing.T) {
	for _, fifo := range []bool{false, true} {
		inWorld(t, fifo, heeding, func(c *longpoll.Config) { c.DrainLimit, c.Engine.Concurrency = 8*time.Second, 64 }, func(w *world) {
			w.inject(latency(5 * time.Millisecond))
			for i := range 64 {
				w.Send(fmt.Sprintf("g%d:1", i))
			}
			w.start()
			w.after(5 * time.Second)
			before := len(w.Server().Calls(extension))
			w.stop()
			if n := len(w.Server().Calls(extension)) - before; n > 14 {
				t.Errorf("fifo %v: %d calls for 64 records, want about 7", fifo, n)
			}
			if n := w.visible(); n != 64 {
				t.Errorf("fifo %v: %d of 64 are visible after the stop", fifo, n)
			}
		})
	}
}

// A thousand that wait are released before a stop's time is over.
func TestStopWithThousandWaiting_ReleasesInTime(t *testing.T) {
	var handled atomic.Int32
	h := func(context.Context, batch.Record) error {
		if handled.Add(1) > 6000 { // so that those which come ahead of them wait
			time.Sleep(300 * time.Millisecond)
		}
		return nil
	}
	inWorld(t, standardQueue, h, func(c *longpoll.Config) { c.Engine.Concurrency, c.Prefetch = 200, 3000 }, func(w *world) {
		w.sendMany(9000)
		w.inject(latency(10 * time.Millisecond))
		w.start()
		waiting := 0
		for i := 0; i < 1000 && waiting < 1000; i++ {
			w.after(time.Millisecond)
			waiting = w.p.Status().Waiting
		}
		if waiting < 1000 {
			t.Fatalf("%d wait: the test tests nothing", waiting)
		}
		if took := w.stop(); took > time.Second {
			t.Errorf("the stop took %v with %d that waited, want at most 1 s", took, waiting)
		}
		seen := 0
		for n := w.visible(); n > 0; n = w.visible() {
			seen += n
		}
		if gone := w.deleted(); gone+seen != 9000 {
			t.Errorf("%d deleted and %d visible after the stop, want 9000 in all", gone, seen)
		}
	})
}

// What is released at a pause is not taken again by the receive that was open.
func TestPauseReleasesAfterItsReceivesHaveEnded(t *testing.T) {
	h := func(context.Context, batch.Record) error { time.Sleep(20 * time.Millisecond); return nil }
	released := 0
	for at := 20 * time.Millisecond; at < 800*time.Millisecond; at += 14 * time.Millisecond {
		inWorld(t, standardQueue, h, func(c *longpoll.Config) { c.Engine.Concurrency, c.Prefetch = 4, 40 }, func(w *world) {
			w.sendMany(160)
			w.inject(latency(30 * time.Millisecond))
			w.start()
			w.after(at)
			w.p.Pause()
			w.after(2 * time.Second)
			released += w.p.Status().Counts.Released
			w.Server().ClearFaults()
			for _, r := range w.Receive(200) {
				if r.Attempt > 2 {
					t.Fatalf("paused after %v: a record was released, taken by the open receive, and released again: it is at attempt %d", at, r.Attempt)
				}
			}
		})
	}
	if released == 0 {
		t.Error("nothing was released: the test tests nothing")
	}
}

// What waits behind slow records of a standard queue is given back: another
// task may have a slot for it. A FIFO queue's is not.
func TestRecordWaitsLong_IsReleasedOnStandardQueuesOnly(t *testing.T) {
	inWorld(t, standardQueue, slowlyBehind(10*time.Minute), oneSlot, func(w *world) {
		w.sendAround()
		w.after(20 * time.Second)
		if s := w.p.Status(); s.Waiting != 0 || s.Counts.Released == 0 {
			t.Errorf("25 s later %d wait and %d were released", s.Waiting, s.Counts.Released)
		}
		w.wantVisible(8)
		w.after(15 * time.Minute)
		w.wantDeleted(39)
	})
	inWorld(t, fifoQueue, slowlyBehind(10*time.Minute), oneSlot, func(w *world) {
		w.sendAround()
		waiting := w.p.Status().Waiting
		w.after(time.Minute)
		if s := w.p.Status(); s.Waiting != waiting || s.Counts.Released != 0 {
			t.Errorf("FIFO: a minute later %d of %d wait and %d were released", s.Waiting, waiting, s.Counts.Released)
		}
	})
}
