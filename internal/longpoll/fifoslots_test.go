package longpoll_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/longpoll"
)

// Deep groups, as many as there are slots or more, keep the slots busy, however
// long their records take.
func TestDeepGroups_KeepSlotsBusy(t *testing.T) {
	const slots, deep = 10, 20
	for _, groups := range []int{slots, 3 * slots} {
		for _, takes := range []time.Duration{50 * time.Millisecond, 300 * time.Millisecond, 5 * time.Second} {
			inWorld(t, fifoQueue, lasting(takes), func(c *longpoll.Config) { c.Engine.Concurrency = slots }, func(w *world) {
				w.inject(latency(5 * time.Millisecond))
				var list []string
				for g := range groups {
					for i := range deep {
						list = append(list, fmt.Sprintf("g%d:%d", g, i))
					}
				}
				w.Send(list...)
				w.start()
				began := time.Now()
				for w.deleted() < len(list) && time.Since(began) < time.Hour {
					w.after(takes / 2)
				}
				ideal := time.Duration(len(list)/slots) * takes
				share := float64(ideal) / float64(time.Since(began))
				t.Logf("%d groups of %d, %v each: %.0f %% of the slots' time", groups, deep, takes, 100*share)
				if share < 0.45 { // which goroutine is first decides: 61 to 98 % were seen
					t.Errorf("%d groups of %d, %v each: %v, want about %v", groups, deep, takes, time.Since(began), ideal)
				}
			})
		}
	}
}
