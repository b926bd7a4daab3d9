package longpoll_test

import (
	"context"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
)

// Standard queues deliver a message again now and then.
func TestDuplicateOfRunningRecord_IsNotHandled(t *testing.T) {
	inWorld(t, standardQueue, lasting(30*time.Second), nil, func(w *world) {
		w.inject(sqs.Fault{Kind: sqs.DuplicateDelivery, Times: 3})
		w.Send("a")
		w.start()
		w.after(5 * time.Minute)
		w.wantHandled("a")
		again := len(w.Events(sqs.Received)) - 1
		if s := w.p.Status(); again == 0 || w.deleted() != 1 || s.Counts.Repeated != again || s.Undeleted != 0 {
			t.Errorf("%d deleted, Repeated %d, Undeleted %d; want 1, %d (more than 0) and 0", w.deleted(), s.Counts.Repeated, s.Undeleted, again)
		}
		w.wantVisible(0)
	})
}

// A delete by a handle that is not the latest succeeds without
// effect; the message comes again and must be deleted, not handled.
func TestHandledMessageComesAgain_IsDeletedNotHandled(t *testing.T) {
	inWorld(t, standardQueue, ok, nil, func(w *world) {
		w.start()
		w.after(time.Second)
		w.inject(sqs.Fault{Kind: sqs.DuplicateDelivery, Times: 1},
			sqs.Fault{Kind: sqs.Latency, Latency: time.Second, Operation: deletion, Times: 1})
		w.Send("a") // and it comes again while its delete is under way
		w.after(5 * time.Minute)
		w.wantHandled("a")
		if s := w.p.Status(); w.deleted() != 1 || s.Undeleted != 0 || s.Counts.Succeeded != 1 {
			t.Errorf("%d deleted, Undeleted %d, Succeeded %d; want 1, 0 and 1", w.deleted(), s.Undeleted, s.Counts.Succeeded)
		}
		w.wantOutcomes(batch.Succeeded)
	})
}

func TestStaleOrExpiredHandle_HandledOnceAndDeleted(t *testing.T) {
	for _, fifo := range []bool{false, true} {
		stale(t, fifo)
	}
}

// stale lets a record's visibility end while it is handled and its extensions
// fail, so that its delete is made by a handle that is no longer good.
func stale(t *testing.T, fifo bool) {
	h := func(context.Context, batch.Record) error { time.Sleep(50 * time.Second); return nil }
	inWorld(t, fifo, h, func(c *longpoll.Config) { c.Visibility = 30 * time.Second }, func(w *world) {
		w.Send("g:1")
		w.start()
		w.p.Pause() // it comes again after it was handled, not before
		w.inject(sqs.Fault{Kind: sqs.Failure, Operation: extension})
		w.p.Resume()
		w.after(time.Second)
		w.wantHandled("g:1")
		w.p.Pause()
		w.after(55 * time.Second)
		w.Server().ClearFaults()
		w.p.Resume()
		w.after(5 * time.Minute)
		w.wantHandled("g:1")
		if s := w.p.Status(); w.deleted() != 1 || s.Undeleted != 0 {
			t.Errorf("%d deleted, Undeleted %d; want 1 and 0", w.deleted(), s.Undeleted)
		}
		w.wantVisible(0)
	})
}

// A record that comes again while it is handled goes on with the new handle.
func TestRunningRecordReceivedAgain_UsesTheNewHandle(t *testing.T) {
	for _, fifo := range []bool{false, true} {
		h := func(context.Context, batch.Record) error { time.Sleep(50 * time.Second); return nil }
		inWorld(t, fifo, h, func(c *longpoll.Config) { c.Visibility = 30 * time.Second }, func(w *world) {
			w.inject(sqs.Fault{Kind: sqs.Failure, Operation: extension})
			w.Send("g:1")
			w.start()
			w.after(40 * time.Second)
			if n := len(w.Events(sqs.Received)); n != 2 {
				t.Fatalf("it was received %d times, want 2: the test tests nothing", n)
			}
			w.after(20 * time.Second)
			w.wantHandled("g:1")
			if w.deleted() != 1 || w.p.Status().Undeleted != 0 {
				t.Errorf("fifo %v: %d deleted, Undeleted %d; want 1 and 0", fifo, w.deleted(), w.p.Status().Undeleted)
			}
		})
	}
}

// More was handled than is remembered: the memory of what was handled is bounded.
func TestWhatWasHandledIsRememberedForAWhile(t *testing.T) {
	inWorld(t, standardQueue, ok, func(c *longpoll.Config) { c.Engine.Concurrency = 100 }, func(w *world) {
		w.sendMany(10_100)
		w.start()
		w.after(10 * time.Second)
		if n := w.deleted(); n != 10_100 {
			t.Fatalf("%d deleted, want 10100", n)
		}
		w.inject(sqs.Fault{Kind: sqs.DuplicateDelivery, Times: 1}, sqs.Fault{Kind: sqs.Latency, Latency: time.Second, Operation: deletion, Times: 1})
		w.Send("a")
		w.after(2 * time.Minute)
		if n := len(w.bodies()); n != 10_101 {
			t.Errorf("%d handled, want 10101", n)
		}
	})
}
