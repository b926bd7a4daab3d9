package longpoll_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
)

// A permanent failure is dead-lettered, and what is behind it goes on at once.
func TestPermanentErrorInGroup_GroupContinues(t *testing.T) {
	h := func(_ context.Context, r batch.Record) error {
		if r.Body == "g:1" {
			time.Sleep(300 * time.Millisecond) // until nothing else happens
			return batch.Permanent(errors.New("boom"))
		}
		return nil
	}
	inWorld(t, fifoQueue, h, nil, func(w *world) {
		w.Send("g:1", "g:2", "g:3")
		w.start()
		w.after(300 * time.Millisecond)
		w.wantHandled("g:1", "g:2", "g:3")
		w.after(2 * time.Second)
		if dead := w.DeadLetters(); len(dead) != 1 || *dead[0].Body != "g:1" || w.deleted() != 3 {
			t.Errorf("dead letters %v, %d deleted", dead, w.deleted())
		}
	})
}

// Those behind a record that always fails are delivered as often as it is. SQS
// would move all of them to the dead-letter queue, handled or not.
func TestHeadAlwaysFails_OnlyItIsDeadLettered(t *testing.T) {
	for _, receives := range []string{"one", "another"} {
		t.Run(receives, func(t *testing.T) {
			var at []string
			h := func(_ context.Context, r batch.Record) error {
				at = append(at, fmt.Sprintf("%s at %d", r.Body, r.Attempt))
				if r.Body == "g:bad" {
					time.Sleep(time.Second)
					return errors.New("no")
				}
				return nil
			}
			inWorld(t, fifoQueue, h, func(c *longpoll.Config) {
				c.Failures.Backoff = func(int) time.Duration { return time.Second }
			}, func(w *world) {
				if receives == "one" {
					w.Send("g:bad", "g:1", "g:2", "g:3")
				} else {
					w.Send("g:bad")
					time.AfterFunc(1500*time.Millisecond, func() { w.Send("g:1", "g:2", "g:3") })
				}
				w.start()
				w.after(time.Hour)
				if len(at) != 5+3 || at[4] != "g:bad at 5" || w.bodies()[7] != "g:3" {
					t.Errorf("handled %q, want g:bad five times, then the rest", at)
				}
				if dead := w.DeadLetters(); len(dead) != 1 || *dead[0].Body != "g:bad" || w.deleted() != 4 {
					t.Errorf("dead letters %v, %d deleted; want g:bad alone, and 4", dead, w.deleted())
				}
				if c := w.p.Status().Counts; c.Succeeded != 3 || c.Failed != 5 {
					t.Errorf("%d succeeded and %d failed, want 3 and 5", c.Succeeded, c.Failed)
				}
			})
		})
	}
}

// What others may have received by now, or SQS has moved to the dead-letter
// queue, is not sent there.
func TestLeaseExpired_RecordIsNotDeadLettered(t *testing.T) {
	h := func(_ context.Context, r batch.Record) error {
		if r.Body == "g:1" {
			time.Sleep(40 * time.Second)
			return batch.Permanent(errors.New("no"))
		}
		return nil
	}
	inWorld(t, fifoQueue, h, func(c *longpoll.Config) {
		c.Visibility, c.Engine.Concurrency, c.Prefetch = 30*time.Second, 1, 1 // no room for more
	}, func(w *world) {
		w.Send("g:1", "g:2")
		w.inject(sqs.Fault{Kind: sqs.Throttled, Operation: extension})
		w.start()
		w.after(41 * time.Second)
		if dead := w.DeadLetters(); len(dead) != 0 {
			t.Errorf("%d dead letters of records that others may have", len(dead))
		}
		w.wantHandled("g:1", "g:1") // it is received again, before g:2
		w.Server().ClearFaults()
	})
}

// What fails because the poller stops is not buried.
func TestCanceledByStop_RecordIsNotDeadLettered(t *testing.T) {
	inWorld(t, fifoQueue, heeding, func(c *longpoll.Config) {
		c.DrainLimit, c.Failures.MaxReceiveCount, c.Engine.Concurrency = time.Second, 1, 1
	}, func(w *world) {
		w.Send("g:1", "g:2")
		w.start()
		w.after(time.Second)
		w.stop()
		if dead, visible := w.DeadLetters(), w.visible(); len(dead) != 0 || visible != 2 {
			t.Errorf("%d dead letters, %d visible after the stop; want 0 and 2", len(dead), visible)
		}
	})
}

// What a send that is under way when the stop begins achieves counts.
func TestStop_WaitsForASendUnderWay(t *testing.T) {
	fails := func(context.Context, batch.Record) error { return errors.New("boom") }
	inWorld(t, fifoQueue, fails, func(c *longpoll.Config) { c.DrainLimit, c.Failures.MaxReceiveCount = 500*time.Millisecond, 1 }, func(w *world) {
		w.inject(sqs.Fault{Kind: sqs.Latency, Operation: "SendMessageBatch", Latency: 2800 * time.Millisecond})
		w.Send("g:1", "g:2")
		w.start()
		w.after(time.Second)
		w.stop()
		if visible, dead := w.visible(), w.DeadLetters(); visible != 1 || len(dead) != 1 || w.deleted() != 1 {
			t.Errorf("%d visible after the stop, %d dead letters, %d deleted; want 1 of each", visible, len(dead), w.deleted())
		}
	})
}

// A group whose visibility was lost while it ran is received again, and waits
// for what runs of it.
func TestGroupLeaseExpired_WaitsForItsRunningRecord(t *testing.T) {
	var g groups
	h := g.around(func(_ context.Context, r batch.Record) error {
		if r.Body == "g0:0" {
			time.Sleep(50 * time.Second)
		}
		return nil
	})
	inWorld(t, fifoQueue, h, func(c *longpoll.Config) { c.Visibility = 30 * time.Second }, func(w *world) {
		w.inject(sqs.Fault{Kind: sqs.Failure, Operation: extension})
		w.Send("g0:0", "g0:1")
		w.start()
		w.after(10 * time.Second)
		w.Send("g0:2", "g0:3") // received with the others when their visibility is over
		w.after(35 * time.Second)
		if n := len(w.Events(sqs.Received)); n < 4 {
			t.Fatalf("%d were received: the test tests nothing", n)
		}
		w.Server().ClearFaults()
		w.after(10 * time.Minute)
		g.check(t, 1, 4)
		if n := w.deleted(); n != 4 || len(w.bodies()) != 4 {
			t.Errorf("%d deleted, handled %v; want 4", n, w.bodies())
		}
	})
}

// The same, and the first fails: what came behind it is skipped with it.
func TestReceivedBehindFailingHead_IsSkippedWithIt(t *testing.T) {
	var g groups
	h := g.around(func(_ context.Context, r batch.Record) error {
		if r.Body == "g0:0" && r.Attempt == 1 {
			time.Sleep(50 * time.Second)
			return batch.RetryAfter(time.Second, errors.New("boom"))
		}
		return nil
	})
	inWorld(t, fifoQueue, h, func(c *longpoll.Config) { c.Visibility = 30 * time.Second }, func(w *world) {
		w.inject(sqs.Fault{Kind: sqs.Failure, Operation: extension, Times: 60})
		w.Send("g0:0", "g0:1")
		w.start()
		w.after(10 * time.Second)
		w.Send("g0:2", "g0:3")
		w.after(35 * time.Second)
		w.Server().ClearFaults()
		w.after(10 * time.Minute)
		g.check(t, 1, 4)
		if n := w.deleted(); n != 4 {
			t.Errorf("%d of 4 deleted", n)
		}
	})
}

// Rule 15: a standard queue's MessageGroupId (fair queues) means no order.
func TestGroupIDsOnStandardQueue_ImposeNoOrder(t *testing.T) {
	var g gauge
	inWorld(t, standardQueue, g.around(lasting(time.Second)), nil, func(w *world) {
		for range 10 {
			w.sendTo("tenant")
		}
		w.start()
		w.after(1500 * time.Millisecond)
		if g.most != 10 || w.deleted() != 10 {
			t.Errorf("%d ran side by side, %d deleted; want 10", g.most, w.deleted())
		}
	})
}

// What a stop does not start of a group is given back once, and not taken again
// by a receive that is still open.
func TestStopDuringAGroup_RestIsReleasedOnce(t *testing.T) {
	h := func(context.Context, batch.Record) error {
		time.Sleep(3 * time.Second)
		return nil
	}
	inWorld(t, fifoQueue, h, nil, func(w *world) {
		w.Send("g:0", "g:1", "g:2", "g:3")
		w.start()
		w.after(time.Second)
		w.stop()
		w.wantHandled("g:0")
		if n := len(w.Events(sqs.Received)); n != 4 {
			t.Errorf("%d messages were received, want 4", n)
		}
		if n := w.visible(); n != 3 {
			t.Errorf("%d of 3 are visible after the stop", n)
		}
	})
}
