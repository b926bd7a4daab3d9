package longpoll_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
)

// groups watches that one record of a group runs at a time, and the order.
type groups struct {
	mu        sync.Mutex
	running   map[string]int
	most, all int // groups at a time; groups whose records ran side by side
	done      map[string][]string
}

func (g *groups) around(h handle) handle {
	return func(ctx context.Context, r batch.Record) error {
		g.mu.Lock()
		if g.running == nil {
			g.running, g.done = map[string]int{}, map[string][]string{}
		}
		g.running[r.GroupID]++
		if g.running[r.GroupID] > 1 {
			g.all++
		}
		g.most = max(g.most, len(g.running))
		g.mu.Unlock()
		err := h(ctx, r)
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.running[r.GroupID]--; g.running[r.GroupID] == 0 {
			delete(g.running, r.GroupID)
		}
		if err == nil {
			g.done[r.GroupID] = append(g.done[r.GroupID], r.Body)
		}
		return err
	}
}

// check compares the order in which each group's records succeeded.
func (g *groups) check(t *testing.T, groups, each int) {
	t.Helper()
	if g.all > 0 {
		t.Errorf("%d times records of one group ran side by side", g.all)
	}
	for group := range groups {
		name, next := fmt.Sprint("g", group), 0
		for _, body := range g.done[name] {
			if want := fmt.Sprintf("%s:%d", name, next); body != want {
				t.Errorf("group %s: %s succeeded where %s is due, in %v", name, body, want, g.done[name])
				break
			}
			next++
		}
		if next != each {
			t.Errorf("group %s: %d of %d succeeded in order", name, next, each)
		}
	}
}

func groupBodies(groups, each int) (list []string) {
	for i := range each {
		for group := range groups {
			list = append(list, fmt.Sprintf("g%d:%d", group, i))
		}
	}
	return list
}

func TestFIFOGroups_RunConcurrentlyInOrder(t *testing.T) {
	var g groups
	h := g.around(func(context.Context, batch.Record) error { time.Sleep(20 * time.Millisecond); return nil })
	inWorld(t, fifoQueue, h, func(c *longpoll.Config) { c.Engine.Concurrency = 8 }, func(w *world) {
		w.inject(latency(5 * time.Millisecond))
		w.Send(groupBodies(8, 20)...)
		w.start()
		w.after(30 * time.Second)
		g.check(t, 8, 20)
		if g.most < 4 || g.most > 8 {
			t.Errorf("%d groups ran at a time, want up to 8 side by side", g.most)
		}
		w.wantDeleted(160)
	})
}

// A receive brings the records of few groups: the others get the free slots.
func TestDeepGroups_FillAllSlots(t *testing.T) {
	for _, prefetch := range []int{-1, 0, 3, 100} {
		var g gauge
		inWorld(t, fifoQueue, g.around(lasting(time.Minute)), func(c *longpoll.Config) { c.Prefetch = prefetch }, func(w *world) {
			w.inject(latency(5 * time.Millisecond))
			var list []string
			for group := range 15 { // each group's in one go
				for i := range 12 {
					list = append(list, fmt.Sprintf("g%d:%d", group, i))
				}
			}
			w.Send(list...)
			w.start()
			w.after(5 * time.Second)
			s := w.p.Status()
			if s.Running != 10 {
				t.Errorf("prefetch %d: %d of 10 slots are used, %d records wait", prefetch, s.Running, s.Waiting)
			}
			bound := map[int]int{-1: 10, 0: 20, 3: 13, 100: 110}[prefetch]
			if most := g.held(w); most > bound {
				t.Errorf("prefetch %d: %d records were held, want at most %d", prefetch, most, bound)
			}
		})
	}
}

// A failed record's group waits with it, and comes back in order.
func TestRecordFails_ItsGroupWaitsAndKeepsOrder(t *testing.T) {
	h := func(_ context.Context, r batch.Record) error {
		if r.Body == "g:2" && r.Attempt == 1 {
			return batch.RetryAfter(30*time.Second, errors.New("boom"))
		}
		return nil
	}
	inWorld(t, fifoQueue, h, nil, func(w *world) {
		w.Send("g:1", "g:2", "g:3", "h:1")
		w.start()
		w.after(10 * time.Second)
		if got := strings.Join(w.bodies(), " "); !strings.Contains(got, "g:1") || !strings.Contains(got, "h:1") || strings.Contains(got, "g:3") {
			t.Errorf("handled %v", got)
		}
		w.Send("g:4") // must not overtake
		w.after(15 * time.Second)
		if n := len(w.bodies()); n != 3 {
			t.Errorf("handled %v while the failed one waits", w.bodies())
		}
		w.after(10 * time.Second)
		if got := w.bodies()[3:]; strings.Join(got, " ") != "g:2 g:3 g:4" {
			t.Errorf("then handled %v, want g:2 g:3 g:4", got)
		}
		for _, body := range []string{"g:2", "g:3"} {
			if got := w.returned(body); len(got) != 1 || got[0] < 29 || got[0] > 31.1 {
				t.Errorf("%s came back at %v s, want 30 s", body, got)
			}
		}
	})
}

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
	h := g.around(sleepingFor("g0:0", 50*time.Second))
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
		w.wantDeleted(4)
	})
}
