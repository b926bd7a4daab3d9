package longpoll_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
)

// Rule 4: a handler that ignores its context loses its slot, not the poller.
func TestAbandonedHandler_FreesItsSlot(t *testing.T) {
	h := func(_ context.Context, r batch.Record) error {
		if r.Body == "stuck" && r.Attempt == 1 {
			time.Sleep(time.Hour)
			return nil
		}
		return nil
	}
	inWorld(t, standardQueue, h, func(c *longpoll.Config) {
		c.Engine.Concurrency, c.Engine.RecordTimeout = 1, 30*time.Second
	}, func(w *world) {
		w.inject(latency(time.Millisecond)) // so that a and b are deleted after stuck was given up, not at that moment
		w.Send("stuck")
		w.start()
		w.after(time.Second)
		w.Send("a", "b")
		w.after(31 * time.Second)
		w.wantHandled("stuck", "a", "b")
		s := w.p.Status()
		if s.AbandonedRunning != 1 || s.Counts.Abandoned != 1 || s.Counts.Failed != 1 || s.Running != 0 {
			t.Errorf("status %+v", s)
		}
		if len(w.warnings) > 0 {
			t.Errorf("warned of %q, next to the record's own line", w.warnings)
		}
		w.wantOutcomes(batch.Succeeded, batch.Succeeded, batch.Abandoned)
		// It is extended after 20 s for a minute, and not when it was given up.
		w.after(60 * time.Second)
		if got := w.returned("stuck"); len(got) != 1 || got[0] < 31 || got[0] > 82 {
			t.Errorf("came back at %v s, want when its visibility is over", got)
		}
		w.wantHandled("stuck", "a", "b", "stuck")
		deleted := w.deleted()
		w.after(2 * time.Hour) // the first returns nil
		if s := w.p.Status(); s.AbandonedRunning != 0 || w.deleted() != deleted || deleted != 3 || s.Counts.Succeeded != 3 {
			t.Errorf("after the abandoned handler's return: status %+v, %d deleted", s, w.deleted())
		}
	})
}

func TestTooManyAbandoned_RunEnds(t *testing.T) {
	h := func(_ context.Context, r batch.Record) error {
		switch {
		case r.Body == "stuck" && r.Attempt == 1:
			time.Sleep(2 * time.Hour)
		case r.Body == "works":
			time.Sleep(45 * time.Second)
		}
		return nil
	}
	inWorld(t, standardQueue, h, func(c *longpoll.Config) {
		c.Engine.RecordTimeout, c.MaxAbandoned, c.DrainLimit = 50*time.Second, 2, time.Minute
	}, func(w *world) {
		w.inject(latency(5 * time.Millisecond))
		w.Send("stuck", "stuck")
		w.start()
		w.after(55 * time.Second)
		select {
		case err := <-w.err:
			t.Fatalf("two of two allowed were abandoned, and Run returned %v", err)
		default:
		}
		w.Send("stuck")
		w.after(20 * time.Second)
		w.Send("works")
		began := time.Now()
		err := <-w.err
		if !errors.Is(err, longpoll.ErrAbandoned) {
			t.Errorf("Run returned %v, want ErrAbandoned", err)
		}
		if took := time.Since(began); took < 30*time.Second || took > 50*time.Second {
			t.Errorf("Run returned after %v, want when the third was given up and the last was done", took)
		}
		gone := false
		for _, e := range w.Events(sqs.Deleted) {
			gone = gone || e.Body == "works"
		}
		if !gone {
			t.Error("what ran next to them was not finished")
		}
	})
}
