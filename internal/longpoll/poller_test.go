package longpoll_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
)

func TestWhatSucceedsIsDeleted(t *testing.T) {
	inWorld(t, standardQueue, ok, nil, func(w *world) {
		w.Send("a", "b", "c")
		w.start()
		w.after(time.Second)
		if got := w.bodies(); len(got) != 3 || w.deleted() != 3 {
			t.Errorf("handled %v, deleted %d; want 3 of each", got, w.deleted())
		}
		w.Send("d")
		w.after(time.Second)
		if got := w.bodies(); len(got) != 4 || w.deleted() != 4 {
			t.Errorf("handled %v, deleted %d; want 4 of each", got, w.deleted())
		}
		w.after(time.Second)
		if took := w.stop(); took > 300*time.Millisecond {
			t.Errorf("stopping an idle poller took %v", took)
		}
		if got := w.outcomes(); !slices.Equal(got, slices.Repeat([]batch.Outcome{batch.Succeeded}, 4)) {
			t.Errorf("hooks got %v", got)
		}
	})
}

func TestIdleQueue_CostsOneRequestIn20Seconds(t *testing.T) {
	inWorld(t, standardQueue, ok, nil, func(w *world) {
		w.start()
		w.after(time.Second)
		w.ForgetCalls()
		w.after(time.Hour)
		if n := len(w.Calls()); n > 180 {
			t.Errorf("%d requests in an hour, want at most 180", n)
		}
	})
}

func TestSlowRecord_HoldsOneSlot(t *testing.T) {
	slow := func(ctx context.Context, r batch.Record) error {
		if r.Body == "slow" {
			time.Sleep(10 * time.Minute)
		} else {
			time.Sleep(10 * time.Millisecond)
		}
		return nil
	}
	inWorld(t, standardQueue, slow, func(c *longpoll.Config) { c.Engine.Concurrency = 4 }, func(w *world) {
		w.Send("slow")
		w.Send(numbered(300, "")...)
		w.start()
		w.after(2 * time.Second)
		if n := w.deleted(); n != 300 {
			t.Errorf("%d were deleted next to the slow one, want 300", n)
		}
		w.after(10 * time.Minute)
		if n, calls := w.deleted(), w.count("ChangeMessageVisibilityBatch"); n != 301 || len(w.bodies()) != 301 || calls < 10*3-1 || calls > 10*3+1 {
			t.Errorf("deleted %d of 301, handled %d, extended %d times", n, len(w.bodies()), calls)
		}
	})
}
