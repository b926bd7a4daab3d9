package longpoll_test

import (
	"context"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
)

// block blocks during the first 20 minutes of a test: in a bubble it is 2000-01-01 at first.
func block() { time.Sleep(time.Until(time.Date(2000, 1, 1, 0, 20, 0, 0, time.UTC))) }

// Hooks that block, one of each kind.
var (
	blockedContext = batch.Hooks{BatchContext: func(ctx context.Context, _ batch.BatchInfo, _ []batch.Record) context.Context {
		block()
		return ctx
	}}
	blockedRecord   = batch.Hooks{RecordContext: func(ctx context.Context, _ *batch.Record) context.Context { block(); return ctx }}
	blockedFinished = batch.Hooks{RecordFinished: func(context.Context, batch.Result) { block() }}
	blockedSettled  = batch.Hooks{BatchSettled: func(context.Context, batch.BatchInfo, []batch.Result) { block() }}
	blockedWarning  = batch.Hooks{Warned: func(context.Context, batch.Warning) { block() }}
	blockedCalls    = batch.Hooks{Called: func(context.Context, batch.Call) { block() }}
	blockedPolling  = batch.Hooks{Polling: func(context.Context, string, func() batch.Status) { block() }}
)

// A stop has its bound whatever hooks do, and strands nothing that was not begun.
func TestHookBlocks_StopEndsInTime(t *testing.T) {
	tests := []struct {
		name    string
		hook    batch.Hooks
		h       handle
		deleted int // of g:1, g:2, g:3; the others are to be visible, but behind one that is abandoned
	}{
		{"Context", blockedContext, ok, 0}, {"Record", blockedRecord, ok, 0},
		{"Finished", blockedFinished, ok, 1}, {"Settled", blockedSettled, ok, 3}, {"Warning", blockedWarning, ok, 3},
		{"Calls", blockedCalls, ok, 3}, {"Polling", blockedPolling, ok, 3},
		{"Warning", blockedWarning, heeding, 0}, {"Settled", blockedSettled, heeding, 0}, {"Finished", blockedFinished, ignoring, 0}, // which hides its group
	}
	for _, test := range tests {
		for _, grace := range []time.Duration{0, 10 * time.Second} {
			inWorld(t, fifoQueue, test.h, func(c *longpoll.Config) {
				c.Hooks, c.Engine.Grace, c.DrainLimit = batch.JoinHooks(c.Hooks, test.hook), grace, 2*time.Second
			}, func(w *world) {
				w.inject(sqs.Fault{Kind: sqs.EntryFailure, Operation: deletion, Times: 1}) // something to warn of
				w.Send("g:1", "g:2", "g:3")
				w.start()
				w.after(1500 * time.Millisecond)
				if took, most := w.stop(), 6200*time.Millisecond+max(grace, time.Second); took > most {
					t.Errorf("%s: the stop took %v, want at most %v", test.name, took, most)
				}
				if n := w.deleted(); n != test.deleted {
					t.Errorf("%s: %d deleted, want %d", test.name, n, test.deleted)
				}
				want := 3 - test.deleted
				if w.p.Status().Counts.Abandoned > 0 {
					want = 0
				}
				if n := w.visible(); n != want {
					t.Errorf("%s: %d are visible after the stop, want %d", test.name, n, want)
				}
				w.after(3 * time.Hour) // the hook has returned
				if drift := w.p.Drift(); drift != "" {
					t.Errorf("%s: %s", test.name, drift)
				}
			})
		}
	}
}

// What a hook kept from being handled is not handled by the process that was
// stopped, when the hook returns at last.
func TestHookBlocksStart_RecordIsAbandonedUnhandled(t *testing.T) {
	inWorld(t, standardQueue, ok, func(c *longpoll.Config) {
		c.Hooks, c.DrainLimit = batch.JoinHooks(c.Hooks, blockedContext), time.Second
	}, func(w *world) {
		w.Send("a", "b", "c")
		w.start()
		w.after(time.Second)
		w.stop()
		w.after(3 * time.Hour)
		w.wantVisible(3)
		w.wantHandled()
		w.wantOutcomes(batch.Abandoned, batch.Abandoned, batch.Abandoned)
	})
}

// The process should be replaced when a hook hangs: its records are stuck.
func TestHealthOfAHookThatHangs(t *testing.T) {
	for name, hook := range map[string]batch.Hooks{
		"BatchContext": blockedContext, "RecordFinished": blockedFinished, "BatchSettled": blockedSettled, "Called": blockedCalls,
		"Polling": blockedPolling, "Warned": blockedWarning,
	} {
		inWorld(t, standardQueue, ok, func(c *longpoll.Config) {
			c.Hooks, c.DrainLimit = batch.JoinHooks(c.Hooks, hook), time.Second
		}, func(w *world) {
			w.inject(sqs.Fault{Kind: sqs.Failure, Operation: deletion, Code: "AccessDenied", Times: 1})
			w.Send("a")
			w.start()
			w.after(29 * time.Second)
			if live, _ := health(t, w.p); live != 200 {
				t.Errorf("%s: /livez %d after 29 s", name, live)
			}
			w.after(8 * time.Second)
			if live, _ := health(t, w.p); live != 503 {
				t.Errorf("%s: /livez %d after 37 s, want 503", name, live)
			}
			w.after(2 * time.Hour)
			if name != "Warned" {
				return
			}
			if live, _ := health(t, w.p); live != 200 {
				t.Errorf("%s: /livez %d after it has returned, want 200", name, live)
			}
		})
	}
	inWorld(t, standardQueue, lasting(time.Hour), func(c *longpoll.Config) { c.Engine.RecordTimeout = 2 * time.Hour }, func(w *world) {
		w.Send("a")
		w.start()
		w.after(30 * time.Minute)
		if live, _ := health(t, w.p); live != 200 {
			t.Errorf("/livez %d while a handler takes long, want 200", live)
		}
	})
}

// The default limit leaves room for the grace.
func TestStop_TakesDrainLimitAndGrace(t *testing.T) {
	for _, test := range []struct{ limit, grace, takes time.Duration }{
		{0, 0, 25 * time.Second},
		{0, 10 * time.Second, 25 * time.Second},
		{15 * time.Second, 10 * time.Second, 25 * time.Second},
		{20 * time.Second, 10 * time.Second, 30 * time.Second},
		{0, time.Minute, 61 * time.Second},
		{114 * time.Second, 0, 115 * time.Second},
	} {
		inWorld(t, standardQueue, ignoring, func(c *longpoll.Config) { c.DrainLimit, c.Engine.Grace = test.limit, test.grace }, func(w *world) {
			w.Send("a")
			w.start()
			w.after(time.Second)
			if took := w.stop(); took < test.takes || took > test.takes+brief {
				t.Errorf("limit %v and grace %v: the stop took %v, want %v", test.limit, test.grace, took, test.takes)
			}
		})
	}
}
