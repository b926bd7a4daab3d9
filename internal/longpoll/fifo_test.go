package longpoll_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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
		if n := w.deleted(); n != 160 {
			t.Errorf("%d of 160 deleted", n)
		}
	})
}

// One slow group holds one slot.
func TestSlowGroup_HoldsOneSlot(t *testing.T) {
	var g groups
	h := g.around(func(_ context.Context, r batch.Record) error {
		if r.GroupID == "g0" {
			time.Sleep(time.Minute)
		}
		return nil
	})
	inWorld(t, fifoQueue, h, func(c *longpoll.Config) { c.Engine.Concurrency = 2 }, func(w *world) {
		w.inject(latency(5 * time.Millisecond))
		w.Send(groupBodies(5, 6)...)
		w.start()
		w.after(30 * time.Second)
		if n := w.deleted(); n != 24 {
			t.Errorf("%d deleted next to the slow group, want 24", n)
		}
		w.after(6 * time.Minute)
		g.check(t, 5, 6)
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

// The order survives failures, duplicates of calls, lost answers and outages.
func TestSQSFaults_FIFOOrderIsKept(t *testing.T) {
	for seed := range uint64(6) {
		var g groups
		var mu sync.Mutex
		random := rand.New(rand.NewPCG(seed, 1))
		h := g.around(func(context.Context, batch.Record) error {
			mu.Lock()
			luck, took := random.IntN(10), time.Duration(random.IntN(200))*time.Millisecond
			mu.Unlock()
			time.Sleep(took)
			switch {
			case luck == 0:
				return errors.New("boom")
			case luck == 1:
				return batch.RetryAfter(0, errors.New("at once"))
			}
			return nil
		})
		inWorld(t, fifoQueue, h, func(c *longpoll.Config) {
			c.Engine.Concurrency, c.Visibility, c.Failures.Backoff = 4, 5*time.Second, func(int) time.Duration { return time.Second }
			c.Failures.MaxReceiveCount = 1000
		}, func(w *world) {
			w.noRedrive()
			w.Send(groupBodies(6, 10)...)
			w.inject(
				sqs.Fault{Kind: sqs.LostAnswer, Probability: 0.05},
				sqs.Fault{Kind: sqs.EntryFailure, Probability: 0.1},
				sqs.Fault{Kind: sqs.Failure, Operation: deletion, Probability: 0.2},
				sqs.Fault{Kind: sqs.Refused, Operation: extension, Probability: 0.2},
				sqs.Fault{Kind: sqs.Latency, Probability: 0.2, Latency: 700 * time.Millisecond},
			)
			w.start()
			w.after(10 * time.Minute)
			w.Server().ClearFaults()
			w.after(5 * time.Minute)
			if t.Failed() {
				return
			}
			g.check(t, 6, 10)
			if n := w.deleted(); n != 60 {
				t.Errorf("seed %d: %d of 60 deleted", seed, n)
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
