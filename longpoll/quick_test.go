package longpoll_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/longpoll"
)

// Groups of quick records leave slots idle for a moment: full receives a moment
// later cost less than small ones now.
func TestRule19QuickGroupsAreReceivedInTens(t *testing.T) {
	quick := func(context.Context, batch.Record) error {
		time.Sleep(15 * time.Millisecond)
		return nil
	}
	inWorld(t, true, quick, func(c *longpoll.Config) { c.Engine.Concurrency = 32 }, func(w *world) {
		bodies := make([]string, 1200)
		for i := range bodies {
			bodies[i] = fmt.Sprintf("group%d:%d", i%60, i)
		}
		w.Send(bodies...)
		w.start()
		w.after(time.Minute)
		if n, receives := w.deleted(), w.count("ReceiveMessage"); n != 1200 || receives > 240 {
			t.Errorf("deleted %d of 1200 with %d receives, want at most 240", n, receives)
		}
	})
}

// A slot that becomes free beside slow records is filled, although nothing
// finishes that would ask for more.
func TestRule20IdleSlotsAskForMoreWhileOthersTakeLong(t *testing.T) {
	mixed := func(_ context.Context, r batch.Record) error {
		if r.Body == "slow" {
			time.Sleep(10 * time.Minute)
		}
		return nil
	}
	inWorld(t, true, func(ctx context.Context, r batch.Record) error { return mixed(ctx, r) },
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
