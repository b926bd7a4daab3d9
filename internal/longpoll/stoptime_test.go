package longpoll_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
	"github.com/sqsbatch/sqsbatch/test/testhooks"
)

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
		c.Hooks, c.DrainLimit = batch.JoinHooks(c.Hooks, testhooks.Of(blockedFinished{})), time.Second
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
