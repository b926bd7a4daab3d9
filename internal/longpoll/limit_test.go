package longpoll_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
)

// This handler works for an hour, or until its context ends.
func heeding(ctx context.Context, _ batch.Record) error {
	select {
	case <-time.After(time.Hour):
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stopped: %w", ctx.Err())
	}
}

// ignoring works for an hour, whatever its context says.
func ignoring(context.Context, batch.Record) error { time.Sleep(time.Hour); return nil }

func TestDrainLimitReached_CancelsAndReleasesRunning(t *testing.T) {
	inWorld(t, standardQueue, heeding, func(c *longpoll.Config) { c.DrainLimit = 8 * time.Second }, func(w *world) {
		w.inject(latency(5 * time.Millisecond))
		w.Send("a", "b", "c")
		w.start()
		w.after(90 * time.Second)
		took := w.stop()
		if took < 8*time.Second || took > 8*time.Second+brief {
			t.Errorf("the stop took %v, want the limit of 8 s and at most %v", took, brief)
		}
		w.wantVisible(3)
		if got := w.warningsWith("handlers that still ran when the drain limit was over"); len(got) != 1 || !strings.Contains(got[0], "SQSBATCH_DRAIN_LIMIT") || !strings.HasSuffix(got[0], "are cancelled: 3") {
			t.Errorf("the stop warned of %q", w.warnings)
		}
		w.wantOutcomes(batch.Retry, batch.Retry, batch.Retry)
		for _, r := range w.results {
			if !errors.Is(r.Err, context.Canceled) || !r.VisibilitySet || r.VisibleIn != 0 {
				t.Errorf("result %+v, want cancelled and visible at once", r)
			}
		}
	})
}

// A verdict that a handler reaches when it is cancelled counts as ever.
func TestDrainLimitReached_HandlersVerdictsCount(t *testing.T) {
	h := func(ctx context.Context, r batch.Record) error {
		<-ctx.Done()
		switch r.Body {
		case "done":
			return nil
		case "permanent":
			return batch.Permanent(ctx.Err())
		case "later":
			return batch.RetryAfter(time.Minute, ctx.Err())
		}
		return ctx.Err()
	}
	inWorld(t, standardQueue, h, func(c *longpoll.Config) { c.DrainLimit = time.Second }, func(w *world) {
		w.Send("done", "permanent", "later", "again")
		w.start()
		w.after(time.Second)
		w.stop()
		if n := len(w.DeadLetters()); w.deleted() != 2 || n != 1 {
			t.Errorf("deleted %d, dead-lettered %d; want 2 and 1", w.deleted(), n)
		}
		if list := w.Receive(10); len(list) != 1 || list[0].Body != "again" {
			t.Errorf("visible after the stop: %v, want \"again\"", list)
		}
		w.after(time.Minute)
		if list := w.Receive(10); len(list) != 1 || list[0].Body != "later" {
			t.Errorf("visible after a minute: %v, want \"later\"", list)
		}
	})
}

func TestHandlerIgnoresDrainLimit_RecordStaysHidden(t *testing.T) {
	inWorld(t, standardQueue, ignoring, func(c *longpoll.Config) { c.DrainLimit = 2 * time.Second }, func(w *world) {
		w.Send("a")
		w.start()
		w.after(time.Second)
		w.stopWithin(3*time.Second + brief)
		w.wantOutcomes(batch.Abandoned)
		w.wantHiddenUntilItsVisibilityEnds()
		w.after(2 * time.Hour) // the handler returns nil at last
		if w.deleted() != 0 {
			t.Error("an abandoned handler's late success deleted its record, which others may be handling")
		}
	})
}

// wantHiddenUntilItsVisibilityEnds looks for a record whose handler may still be at work.
func (w *world) wantHiddenUntilItsVisibilityEnds() {
	w.t.Helper()
	if n := w.visible(); n != 0 {
		w.t.Errorf("%d visible after the stop, while the handler runs", n)
	}
	w.after(time.Minute)
	if n := w.visible(); n != 1 {
		w.t.Errorf("%d of 1 is visible after its visibility timeout", n)
	}
}

func TestShutdownWithEndedContext_EndsAtOnce(t *testing.T) {
	inWorld(t, standardQueue, heeding, nil, func(w *world) {
		w.inject(latency(5 * time.Millisecond))
		w.Send("a", "b")
		w.start()
		w.after(time.Second)
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		began := time.Now()
		if err := w.p.Shutdown(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("Shutdown: %v, want Canceled", err)
		}
		if took := time.Since(began); took > brief {
			t.Errorf("Shutdown took %v", took)
		}
		w.wantVisible(2)
	})
}

func TestStopWhileSQSIsDown_EndsInTime(t *testing.T) {
	for _, kind := range []sqs.FaultKind{sqs.Refused, sqs.Hang, sqs.Throttled} {
		inWorld(t, standardQueue, slowing, func(c *longpoll.Config) { c.Engine.Concurrency = 4 }, func(w *world) {
			w.Send(numbered(80, "")...)
			w.start()
			w.after(700 * time.Millisecond)
			w.inject(sqs.Fault{Kind: kind})
			w.after(100 * time.Millisecond)
			if took := w.stop(); took > 6*time.Second {
				t.Errorf("%s: the stop took %v, want the second that runs and at most 5 s", kind, took)
			}
			w.Server().ClearFaults()
			w.after(2 * time.Minute)
			gone := w.deleted()
			if n := w.visible(); gone+n != 80 {
				t.Errorf("%s: %d deleted and %d visible, want 80 in all", kind, gone, n)
			}
		})
	}
}

// Nothing is started once the stop has begun, also of a group that is under way.
func TestStopDuringAGroup_RestIsNotStarted(t *testing.T) {
	var calls atomic.Int32
	h := func(context.Context, batch.Record) error { calls.Add(1); time.Sleep(2 * time.Second); return nil }
	inWorld(t, fifoQueue, h, nil, func(w *world) {
		w.inject(latency(5 * time.Millisecond))
		w.Send("g:1", "g:2", "g:3", "g:4")
		w.start()
		w.after(3 * time.Second)
		w.stopWithin(time.Second + brief)
		if n := calls.Load(); n != 2 || w.deleted() != 2 {
			t.Errorf("%d were started and %d deleted, want 2", n, w.deleted())
		}
		list := w.Receive(10)
		if len(list) != 2 || list[0].Body != "g:3" || list[1].Body != "g:4" {
			t.Errorf("visible after the stop: %v", list)
		}
		w.wantOutcomes(batch.Succeeded, batch.Succeeded, batch.NotStarted, batch.NotStarted)
	})
}

// A stop takes DrainLimit, the grace and 4 s at most, whatever SQS does.
func TestStopWithSQSFaults_KeepsItsBound(t *testing.T) {
	late := func(context.Context, batch.Record) error { // ends just before the limit
		time.Sleep(28 * time.Second)
		return batch.Permanent(errors.New("no"))
	}
	tests := []struct {
		name   string
		h      handle
		grace  time.Duration
		before time.Duration // the end of DrainLimit
		fault  sqs.Fault
		fifo   bool
	}{
		{"hangs from the start of the stop", late, 0, 24 * time.Second, sqs.Fault{Kind: sqs.Hang}, false},
		{"hangs at last", late, 0, time.Second, sqs.Fault{Kind: sqs.Hang}, false},
		{"hangs, and handlers ignore the limit", ignoring, 0, time.Second, sqs.Fault{Kind: sqs.Hang}, false},
		{"hangs, and handlers heed it", heeding, 0, time.Second, sqs.Fault{Kind: sqs.Hang}, true},
		{"hangs, and handlers ignore a long grace", ignoring, 5 * time.Second, time.Second, sqs.Fault{Kind: sqs.Hang}, false},
		{"is slow", late, 0, time.Second, latency(2500 * time.Millisecond), false},
		{"is very slow", ignoring, 0, time.Second, latency(3900 * time.Millisecond), true},
		{"fails", heeding, 0, time.Second, sqs.Fault{Kind: sqs.Failure}, false},
	}
	for _, test := range tests {
		inWorld(t, test.fifo, test.h, func(c *longpoll.Config) { c.Engine.Grace = test.grace }, func(w *world) {
			for _, body := range numbered(10, ":1") {
				w.Send(body)
			}
			w.start()
			w.after(4100 * time.Millisecond)
			go func() {
				time.Sleep(24*time.Second - test.before)
				w.inject(test.fault)
			}()
			if took, most := w.stop(), 28*time.Second+max(test.grace, time.Second); took > most {
				t.Errorf("SQS %s: the stop took %v, want at most %v", test.name, took, most)
			}
			synctest.Wait() // at the moment of the return others may end as well, and have no order
			calls := len(w.Calls())
			w.after(time.Minute)
			if n := len(w.Calls()) - calls; n != 0 {
				t.Errorf("SQS %s: %d calls after the stop", test.name, n)
			}
		})
	}
}

// A success within a long grace after the limit is deleted, also when SQS is slow.
func TestStopWithLongGrace_LeavesTimeForDeletes(t *testing.T) {
	h := func(ctx context.Context, _ batch.Record) error {
		<-ctx.Done()
		time.Sleep(9 * time.Second)
		return nil
	}
	inWorld(t, standardQueue, h, func(c *longpoll.Config) { c.DrainLimit, c.Engine.Grace = 2*time.Second, 10*time.Second }, func(w *world) {
		w.Send("a")
		w.start()
		w.after(time.Second)
		w.inject(latency(time.Second))
		w.stop()
		if w.deleted() != 1 {
			t.Errorf("not deleted: %q", w.warnings)
		}
	})
}

// The line about what is cut off says what has cut it off.
func TestRecordsCutOffByStop_WarningSaysWhy(t *testing.T) {
	for _, forced := range []bool{false, true} {
		inWorld(t, standardQueue, heeding, func(c *longpoll.Config) { c.DrainLimit = 10 * time.Second }, func(w *world) {
			w.Send("a")
			w.start()
			w.after(time.Second)
			limit := time.Minute
			if forced {
				limit = time.Second
			}
			ctx, cancel := context.WithTimeout(context.Background(), limit)
			defer cancel()
			if err := w.p.Shutdown(ctx); forced != errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Shutdown: %v", err)
			}
			want, other := "DrainLimit is 10s; with package handler: SQSBATCH_DRAIN_LIMIT", "Shutdown's context"
			if forced {
				want, other = other, want
			}
			list := w.warningsWith("are cancelled: 1")
			if len(list) != 1 || !strings.Contains(list[0], want) || strings.Contains(list[0], other) {
				t.Errorf("forced %v: warned %q, want %q", forced, w.warnings, want)
			}
		})
	}
}

// A stop that waits for a hook says so, rather than that no record runs.
func TestHookHoldsUpStop_WarningNamesIt(t *testing.T) {
	inWorld(t, standardQueue, ok, func(c *longpoll.Config) {
		c.Hooks, c.DrainLimit = batch.JoinHooks(c.Hooks, blockedFinished), time.Second
	}, func(w *world) {
		w.Send("a")
		w.start()
		w.after(time.Second)
		w.stop()
		if got := w.warningsWith("RecordFinished"); len(got) != 1 || len(w.warningsWith("0 ")) != 0 {
			t.Errorf("warned %q, want of the hook", w.warnings)
		}
	})
}
