package longpoll_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
)

// Slots that open receives can fill ask for nothing more. Small receives next to those
// would bring one message each.
func TestReceive_QuickGroupsComeInTens(t *testing.T) {
	inWorld(t, fifoQueue, ok, func(c *longpoll.Config) { c.Engine.Concurrency = 32 }, func(w *world) {
		w.inject(latency(5 * time.Millisecond))
		w.Send(inGroups(1200, 60)...)
		w.ForgetCalls()
		w.start()
		w.after(time.Minute)
		if n, receives := w.deleted(), w.count("ReceiveMessage"); n != 1200 || receives > 180 {
			t.Errorf("deleted %d of 1200 with %d receives, want at most 180", n, receives)
		}
	})
}

// Groups of quick records leave slots idle for a moment: full receives a moment later
// cost less than small ones now.
func TestReceive_GroupsOfShortRecordsComeInTens(t *testing.T) {
	inWorld(t, fifoQueue, lasting(15*time.Millisecond), func(c *longpoll.Config) { c.Engine.Concurrency = 32 }, func(w *world) {
		w.Send(inGroups(1200, 60)...)
		w.ForgetCalls()
		w.start()
		w.after(time.Minute)
		if n, receives := w.deleted(), w.count("ReceiveMessage"); n != 1200 || receives > 240 {
			t.Errorf("deleted %d of 1200 with %d receives, want at most 240", n, receives)
		}
	})
}

// inGroups are n bodies in a number of groups, which take turns.
func inGroups(n, groups int) []string {
	bodies := make([]string, n)
	for i := range bodies {
		bodies[i] = fmt.Sprintf("group%d:%d", i%groups, i)
	}
	return bodies
}

// A slot that becomes free next to slow records is filled, although nothing
// finishes that would ask for more.
func TestSlotFreeDuringSlowRecords_IsFilled(t *testing.T) {
	mixed := func(_ context.Context, r batch.Record) error {
		if r.Body == "slow" {
			time.Sleep(10 * time.Minute)
		}
		return nil
	}
	inWorld(t, fifoQueue, func(ctx context.Context, r batch.Record) error { return mixed(ctx, r) },
		func(c *longpoll.Config) { c.Engine.Concurrency = 4 }, func(w *world) {
			bodies := []string{"slow"}
			for i := range 300 {
				bodies = append(bodies, fmt.Sprintf("group%d:%d", i%40, i))
			}
			w.Send(bodies...)
			w.start()
			w.after(time.Minute)
			w.Send("later:1")
			w.after(5 * time.Second)
			if n := w.deleted(); n != 301 {
				t.Errorf("deleted %d, want the 300 quick ones and the later one", n)
			}
		})
}
