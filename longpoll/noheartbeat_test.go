package longpoll_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/longpoll"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// Without heartbeats a record's deadline is its visibility less the margin.
func TestNoHeartbeat_DeadlineIsVisibilityLessMargin(t *testing.T) {
	tests := []struct{ visibility, deadline time.Duration }{
		{0, 5*time.Minute - 5*time.Second}, // the queue's own
		{30 * time.Second, 27 * time.Second},
		{3 * time.Second, 2700 * time.Millisecond},
	}
	for _, test := range tests {
		var allowed, ended time.Duration
		h := func(ctx context.Context, r batch.Record) error {
			if r.Attempt > 1 {
				return nil
			}
			d, _ := ctx.Deadline()
			allowed = d.Sub(r.ReceivedAt)
			<-ctx.Done()
			ended = time.Since(r.ReceivedAt)
			return ctx.Err()
		}
		inWorld(t, standardQueue, h, func(c *longpoll.Config) {
			c.NoHeartbeat, c.Visibility = true, test.visibility
			c.Failures.Backoff = partialfailure.Constant(time.Second)
		}, func(w *world) {
			w.Send("a")
			w.start()
			w.after(10 * time.Minute)
			if allowed != test.deadline || ended != test.deadline {
				t.Errorf("the deadline is %v after the receipt, the context ended after %v; want %v", allowed, ended, test.deadline)
			}
			if n := w.p.Status().Counts.Extensions; n != 0 {
				t.Errorf("%d extensions", n)
			}
			w.wantHandled("a", "a")
			if got := w.returned("a"); len(got) != 1 || got[0] > (test.deadline+2*time.Second).Seconds() {
				t.Errorf("came back at %v s, want a backoff of 1 s after its deadline", got)
			}
		})
	}
}

func TestNoHeartbeat_RecordTimeoutStillCounts(t *testing.T) {
	var allowed time.Duration
	h := func(ctx context.Context, _ batch.Record) error {
		d, _ := ctx.Deadline()
		allowed = time.Until(d)
		return nil
	}
	inWorld(t, standardQueue, h, func(c *longpoll.Config) {
		c.NoHeartbeat, c.Visibility, c.Engine.RecordTimeout = true, time.Minute, 10*time.Second
	}, func(w *world) {
		w.Send("a")
		w.start()
		w.after(time.Minute)
		if allowed != 10*time.Second {
			t.Errorf("the record was given %v, want 10 s", allowed)
		}
	})
}

// Rule 3: what could not be done in time is not started, but released.
func TestNoHeartbeatAndTooLittleTime_RecordsAreReleased(t *testing.T) {
	h := func(_ context.Context, r batch.Record) error { time.Sleep(12 * time.Second); return nil }
	inWorld(t, fifoQueue, h, func(c *longpoll.Config) { c.NoHeartbeat, c.Visibility = true, 30*time.Second }, func(w *world) {
		w.Send("g:1", "g:2", "g:3", "g:4")
		w.start()
		w.after(2 * time.Minute)
		// Two take 24 s, a third would end at 36 s.
		w.wantHandled("g:1", "g:2", "g:3", "g:4")
		w.wantOutcomes(batch.Succeeded, batch.Succeeded, batch.NotStarted, batch.NotStarted, batch.Succeeded, batch.Succeeded)
		if got := w.returned("g:3"); len(got) != 1 || got[0] > 25 {
			t.Errorf("the third came back at %v s, want 24 s: it was to be released", got)
		}
		if n := w.deleted(); n != 4 {
			t.Errorf("%d deleted, want 4", n)
		}
		if s := w.p.Status(); s.Counts.Failed != 0 || s.Counts.Released != 2 {
			t.Errorf("Failed %d, Released %d; want 0 and 2", s.Counts.Failed, s.Counts.Released)
		}
	})
}

// What waited for a slot until its visibility was over is not started.
func TestNoHeartbeatAndVisibilityOver_RecordIsNotStarted(t *testing.T) {
	h := func(_ context.Context, r batch.Record) error {
		if r.Body == "slow" {
			time.Sleep(9 * time.Second)
		}
		return nil
	}
	inWorld(t, standardQueue, h, func(c *longpoll.Config) {
		c.NoHeartbeat, c.Visibility, c.Engine.Concurrency = true, 10*time.Second, 1
	}, func(w *world) {
		w.inject(latency(5 * time.Millisecond))
		w.Send(numbered(30, "quick")...)
		w.Send("slow", "a", "slow", "b", "c")
		w.start()
		w.after(2 * time.Minute)
		if n := w.deleted(); n != 35 {
			t.Errorf("%d deleted, want 35", n)
		}
		count := map[string]int{}
		for _, body := range w.bodies() {
			count[body]++
		}
		if count["a"] != 1 || count["b"] != 1 || count["c"] != 1 || count["slow"] != 2 {
			t.Errorf("handled %v, want each once", count)
		}
		if s := w.p.Status(); s.Counts.Lost+s.Counts.Released == 0 {
			t.Error("nothing waited too long: the test tests nothing")
		}
	})
}

// What has waited so long that the time left is less than records take is given
// back, not started to be cut off.
func TestNoHeartbeatAndTimeBelowMedian_RecordIsReleased(t *testing.T) {
	h := func(ctx context.Context, r batch.Record) error {
		d := 20 * time.Millisecond
		switch {
		case r.Body == "slow":
			d = 8700 * time.Millisecond
		case strings.HasSuffix(r.Body, "after"):
			d = time.Second
		}
		return lasting(d)(ctx, r)
	}
	inWorld(t, standardQueue, h, func(c *longpoll.Config) {
		c.Engine.Concurrency, c.NoHeartbeat, c.Visibility = 1, true, 10*time.Second
	}, func(w *world) {
		w.inject(latency(5 * time.Millisecond))
		w.Send(numbered(30, "quick")...)
		w.Send("slow")
		w.Send(numbered(8, "after")...)
		w.start()
		w.after(2 * time.Minute)
		s := w.p.Status()
		if s.Counts.Failed > 1 || w.deleted() != 39 {
			t.Errorf("%d of 39 deleted, %d failed; want at most the one right behind the slow one to be started without enough time", w.deleted(), s.Counts.Failed)
		}
		if s.Counts.Released == 0 {
			t.Error("nothing waited too long: the test tests nothing")
		}
	})
}
