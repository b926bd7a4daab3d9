package longpoll_test

import (
	"context"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
)

// gauge counts the handlers that run, and notes when each was over.
type gauge struct {
	mu        sync.Mutex
	now, most int
	over      []time.Time
}

func (g *gauge) around(h handle) handle {
	return func(ctx context.Context, r batch.Record) error {
		g.mu.Lock()
		g.now++
		g.most = max(g.most, g.now)
		g.mu.Unlock()
		defer func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.now--
			g.over = append(g.over, time.Now())
		}()
		return h(ctx, r)
	}
}

// held is how many messages were in flight at most whose handlers had not
// returned, by the server's account.
func (g *gauge) held(w *world) (most int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	inFlight, deleted := 0, 0
	for _, e := range w.Server().Events(sqs.Received, sqs.Returned, sqs.Deleted) {
		switch e.Kind {
		case sqs.Received:
			inFlight++
		case sqs.Returned:
			inFlight--
		case sqs.Deleted:
			inFlight--
			deleted++
		}
		handled := 0
		for _, at := range g.over {
			if !at.After(e.Time) {
				handled++
			}
		}
		most = max(most, inFlight-(handled-deleted))
	}
	return most
}

func TestManyMessages_HeldWithinSlotsAndPrefetch(t *testing.T) {
	tests := []struct {
		name                  string
		concurrency, prefetch int
		takes, latency        time.Duration
		most                  int // held
	}{
		{"quick", 16, 0, 5 * time.Millisecond, 5 * time.Millisecond, 80},
		{"a second in line", 16, 0, 100 * time.Millisecond, 5 * time.Millisecond, 32},
		{"many slots", 400, 0, 5 * time.Millisecond, 5 * time.Millisecond, 800},
		{"no prefetch", 16, -1, 5 * time.Millisecond, 5 * time.Millisecond, 16},
		{"one slot", 1, 0, time.Millisecond, 5 * time.Millisecond, 11},
		{"one slot, no prefetch", 1, -1, time.Millisecond, time.Millisecond, 1},
		{"little prefetch", 8, 3, 2 * time.Millisecond, 20 * time.Millisecond, 11},
		{"much prefetch", 4, 100, time.Millisecond, 50 * time.Millisecond, 104},
		{"no time at all", 10, 0, 0, 0, 50},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var g gauge
			h := g.around(func(context.Context, batch.Record) error { time.Sleep(test.takes); return nil })
			inWorld(t, standardQueue, h, func(c *longpoll.Config) {
				c.Engine.Concurrency, c.Prefetch = test.concurrency, test.prefetch
			}, func(w *world) {
				if test.latency > 0 {
					w.inject(latency(test.latency))
				}
				w.Send(numbered(400, "")...)
				w.start()
				w.after(time.Minute)
				w.wantDeleted(400)
				if g.most > test.concurrency {
					t.Errorf("%d handlers ran at a time, want at most %d", g.most, test.concurrency)
				}
				if most := g.held(w); most > test.most {
					t.Errorf("%d records were held, want at most %d", most, test.most)
				}
			})
		})
	}
}

func TestSlowHandlers_PrefetchNothing(t *testing.T) {
	var g gauge
	h := g.around(func(context.Context, batch.Record) error { time.Sleep(20 * time.Second); return nil })
	inWorld(t, standardQueue, h, func(c *longpoll.Config) { c.Engine.Concurrency = 16 }, func(w *world) {
		w.inject(latency(5 * time.Millisecond))
		w.Send(numbered(100, "")...)
		w.start()
		for range 120 {
			w.after(time.Second)
			if s := w.p.Status(); s.Waiting > 0 {
				t.Fatalf("%d records wait for a slot which will be free in seconds only: others could have them", s.Waiting)
			}
		}
		if n := w.deleted(); n < 16*5 {
			t.Errorf("%d were deleted in two minutes, want %d: the slots were not kept busy", n, 16*5)
		}
		if most := g.held(w); most > 16 {
			t.Errorf("%d were held, want 16", most)
		}
	})
}

// One slow message does not stop the polling, and slots are not lost.
func TestSlowRecordsAndPanics_OtherSlotsStayBusy(t *testing.T) {
	var g gauge
	h := g.around(func(_ context.Context, r batch.Record) error {
		if r.Attempt == 1 && r.Body[len(r.Body)-1] == '7' {
			panic("now and then")
		}
		if r.Body == "0" || r.Body == "1" || r.Body == "2" {
			time.Sleep(5 * time.Minute)
		}
		time.Sleep(10 * time.Millisecond)
		return nil
	})
	inWorld(t, standardQueue, h, func(c *longpoll.Config) { c.Engine.Concurrency = 4 }, func(w *world) {
		w.inject(latency(time.Millisecond))
		w.Send(numbered(200, "")...)
		w.start()
		w.after(30 * time.Second)
		w.wantDeleted(197)
		w.after(5 * time.Minute)
		w.Send(numbered(8, "more")...)
		w.after(100 * time.Millisecond)
		if n := w.deleted(); n != 208 || g.most != 4 {
			t.Errorf("%d were deleted, want 208; %d ran at a time, want 4", n, g.most)
		}
	})
}

func TestFullQueue_ThroughputAndRequestsMeetTargets(t *testing.T) {
	tests := []struct {
		name     string
		takes    func(i int) time.Duration
		messages int
		perSec   float64
	}{
		{"10 ms", func(int) time.Duration { return 10 * time.Millisecond }, 8000, 6400 * 0.95},
		{"10 ms, one in a hundred 1 s", func(i int) time.Duration {
			if i%100 == 99 {
				return time.Second
			}
			return 10 * time.Millisecond
		}, 6000, 3216 * 0.9},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h := func(_ context.Context, r batch.Record) error {
				i, _ := strconv.Atoi(r.Body)
				time.Sleep(test.takes(i))
				return nil
			}
			inWorld(t, standardQueue, h, func(c *longpoll.Config) { c.Engine.Concurrency = 64 }, func(w *world) {
				w.sendMany(test.messages)
				w.inject(latency(5 * time.Millisecond))
				w.start()
				w.after(time.Second)
				if n := len(w.bodies()); float64(n) < test.perSec {
					t.Errorf("%d were handled in the first second, want at least %.0f", n, test.perSec)
				}
				w.after(4 * time.Second)
				if n := w.deleted(); n != test.messages {
					t.Fatalf("%d of %d were deleted", n, test.messages)
				}
				if per := float64(len(w.Calls())) / float64(test.messages); per > 0.21 {
					t.Errorf("%.3f requests for each message, want at most 0.21", per)
				}
			})
		})
	}
}

func TestAllSlotsBusy_GoroutinesAreBounded(t *testing.T) {
	inWorld(t, standardQueue, heeding, func(c *longpoll.Config) { c.Engine.Concurrency, c.DrainLimit = 64, time.Second }, func(w *world) {
		w.start()
		w.after(time.Second)
		idle := runtime.NumGoroutine()
		w.Send(numbered(64, "")...)
		w.after(90 * time.Second)
		if s := w.p.Status(); s.Running != 64 {
			t.Fatalf("%d run, want 64", s.Running)
		}
		if n := runtime.NumGoroutine() - idle; n > 64+4 {
			t.Errorf("%d goroutines more than when idle, with 64 handlers: %s", n, stacks())
		}
		w.stop()
	})
}

func stacks() string {
	buf := make([]byte, 1<<20)
	return string(buf[:runtime.Stack(buf, true)])
}
