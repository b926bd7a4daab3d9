package runner_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/runner"
)

// sharing are runners of one Slots, each with more records than can be handled.
type sharing struct {
	slots   *runner.Slots
	running atomic.Int32
	most    atomic.Int32
	served  map[string]*atomic.Int64 // how long handlers ran, by name
}

func newSharing(total int) *sharing {
	return &sharing{slots: runner.NewSlots(total), served: map[string]*atomic.Int64{}}
}

// add begins a runner whose handler takes so long, with n records of a standard queue.
func (s *sharing) add(t *testing.T, name string, priority, n int, takes func() time.Duration) *owned {
	t.Helper()
	served := new(atomic.Int64)
	s.served[name] = served
	e := newEngine(t, config{Concurrency: 50}, func(context.Context, batch.Record) error {
		s.most.Store(max(s.most.Load(), s.running.Add(1)))
		began := time.Now()
		time.Sleep(takes())
		served.Add(int64(time.Since(began)))
		s.running.Add(-1)
		return nil
	})
	e.Slots, e.Priority = s.slots, priority
	r := own(t.Context(), e)
	r.Add(many(n)...)
	return r
}

func many(n int) (list []*runner.Delivery) {
	for i := range n {
		h := &held{record: batch.Record{MessageID: fmt.Sprint(i), ReceivedAt: time.Now()}}
		h.Record, h.Result = &h.record, &h.result
		list = append(list, &h.Delivery)
	}
	return list
}

// part is which part of the slots' time handlers of a runner had, of 1.
func (s *sharing) part(name string) float64 {
	all := 0.0
	for _, served := range s.served {
		all += float64(served.Load())
	}
	return float64(s.served[name].Load()) / all
}

func constant(d time.Duration) func() time.Duration { return func() time.Duration { return d } }

func random() time.Duration { return time.Duration(rand.IntN(20)) * time.Millisecond }

func TestSlots_AreSharedEqually(t *testing.T) {
	for _, test := range []struct {
		name       string
		slots      int
		one, other func() time.Duration
	}{
		{"the same", 8, constant(10 * time.Millisecond), constant(10 * time.Millisecond)},
		{"one slot", 1, constant(10 * time.Millisecond), constant(10 * time.Millisecond)},
		{"the one's take longer", 8, constant(10 * time.Millisecond), constant(100 * time.Millisecond)},
		{"the other's take longer", 4, constant(100 * time.Millisecond), constant(time.Millisecond)},
		{"random times", 5, random, random},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSharing(test.slots)
				one := s.add(t, "one", 1, 100_000, test.one)
				other := s.add(t, "other", 1, 100_000, test.other)
				time.Sleep(20 * time.Second)
				if got := s.part("one"); math.Abs(got-0.5) > 0.03 {
					t.Errorf("the one has %.3f of the slots, want half", got)
				}
				if int(s.most.Load()) != test.slots {
					t.Errorf("%d ran at a time, want %d", s.most.Load(), test.slots)
				}
				if u, half := one.r.Usable(50), (test.slots+1)/2; u != half {
					t.Errorf("the one may count on %d slots, want %d", u, half)
				}
				one.Withdraw(batch.ErrStopped)
				other.Withdraw(batch.ErrStopped)
				time.Sleep(time.Minute)
			})
		})
	}
}

func TestSlots_PriorityStarvesTheLowOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSharing(4)
		low := s.add(t, "low", 1, 10_000, random)
		high := s.add(t, "high", 2, 4000, constant(10*time.Millisecond))
		time.Sleep(9900 * time.Millisecond)
		if got := s.part("high"); got < 0.99 {
			t.Errorf("the high one has %.3f of the slots, want 0.99", got)
		}
		if u := low.r.Usable(50); u != 0 {
			t.Errorf("the low one may count on %d slots, want none", u)
		}
		time.Sleep(10 * time.Second) // the high one has no more records
		if got := s.part("low"); got < 0.45 {
			t.Errorf("the low one has %.3f of the slots after both had the same time, want nearly half", got)
		}
		if u := low.r.Usable(50); u != 4 || high.r.Usable(50) != 4 {
			t.Errorf("usable: %d and %d, want 4 each", u, high.r.Usable(50))
		}
		low.Withdraw(batch.ErrStopped)
		time.Sleep(time.Minute)
	})
}

// What was not used is lost: who comes late does not have all slots for a while.
func TestSlots_IdleTimeIsNotSavedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSharing(4)
		first := s.add(t, "first", 1, 100_000, random)
		second := s.add(t, "second", 1, 0, random)
		time.Sleep(time.Minute)
		s.served["first"].Store(0)
		second.Add(many(100_000)...)
		time.Sleep(10 * time.Second)
		if got := s.part("second"); math.Abs(got-0.5) > 0.03 {
			t.Errorf("the one that came late has %.3f of the slots, want half", got)
		}
		first.Withdraw(batch.ErrStopped)
		second.Withdraw(batch.ErrStopped)
		time.Sleep(time.Minute)
	})
}

// Whatever runners come and go, and however handlers end, no more run at a time than
// there are slots, every record finishes, and all slots are free in the end.
func TestSlots_RunnersComeAndGo(t *testing.T) {
	for seed := range uint64(100) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			total := 1 + random.IntN(5)
			slots := runner.NewSlots(total)
			var running, most atomic.Int32 // of those that were not given up
			var all []*owned
			records, finished := 0, 0
			for range 20 {
				kind, takes := random.IntN(6), time.Duration(random.IntN(50))*time.Millisecond
				e := newEngine(t, config{Concurrency: 1 + random.IntN(10), RecordTimeout: time.Second}, func(context.Context, batch.Record) error {
					if kind > 0 {
						most.Store(max(most.Load(), running.Add(1)))
						defer running.Add(-1)
					}
					time.Sleep(takes)
					switch kind {
					case 0:
						time.Sleep(10 * time.Second) // it is given up after two
					case 1:
						runtime.Goexit()
					case 2:
						panic("no")
					case 3:
						return batch.Abort(time.Second, nil)
					}
					return nil
				})
				e.Slots, e.Priority = slots, random.IntN(1+int(seed%3))
				r, n := own(t.Context(), e), random.IntN(30)
				r.Add(many(n)...)
				all, records = append(all, r), records+n
				switch r := all[random.IntN(len(all))]; random.IntN(6) {
				case 0:
					r.Resume(1 + random.IntN(3))
				case 1:
					r.Pause()
				case 2:
					r.Cancel(context.Canceled)
				case 3:
					finished += len(r.Withdraw(batch.ErrStopped))
					r.Leave()
				}
				time.Sleep(time.Duration(random.IntN(100)) * time.Millisecond)
			}
			time.Sleep(10 * time.Minute)
			for _, r := range all {
				finished += len(r.Withdraw(batch.ErrStopped)) + len(r.Finished())
			}
			if finished != records || int(most.Load()) > total {
				t.Errorf("seed %d: %d of %d records finished, %d ran at a time on %d slots", seed, finished, records, most.Load(), total)
			}
			if n := all[0].r.Usable(1000); n != total {
				t.Errorf("seed %d: %d of %d slots are free in the end", seed, n, total)
			}
		})
	}
}

// A queue of quick records keeps its slots next to queues of slow ones, if there is a slot for each
// queue. With fewer, records take turns.
func TestSlots_SlowQueues_QuickOneKeepsItsSlots(t *testing.T) {
	for slots, least := range map[int]float64{1: 0.005, 2: 0.005, 3: 0.3, 6: 0.3} {
		synctest.Test(t, func(t *testing.T) {
			s := newSharing(slots)
			list := []*owned{s.add(t, "quick", 1, 100_000, constant(time.Millisecond))}
			for i := range 2 {
				list = append(list, s.add(t, fmt.Sprint("slow", i), 1, 10_000, constant(100*time.Millisecond)))
			}
			time.Sleep(10 * time.Second)
			if part := s.part("quick"); part < least {
				t.Errorf("%d slots: the quick one has %.3f of the time, want %.3f at least", slots, part, least)
			}
			for _, r := range list {
				r.Withdraw(batch.ErrStopped)
			}
			time.Sleep(time.Minute)
		})
	}
}

// A slot that another runner leaves is not used by one that has been limited to fewer meanwhile.
func TestSlots_LimitedWhileItWaits_SlotGoesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSharing(2)
		one := s.add(t, "one", 1, 1, constant(time.Minute))
		other := s.add(t, "other", 1, 1, constant(time.Second))
		one.Add(many(5)...) // and waits for a slot
		synctest.Wait()
		one.Resume(1)
		time.Sleep(2 * time.Second)
		if n := one.Count().Running; n != 1 {
			t.Errorf("%d run on one slot", n)
		}
		if other.r.Usable(50) == 0 {
			t.Error("the other slot is not free")
		}
		one.Withdraw(batch.ErrStopped)
		time.Sleep(time.Hour)
	})
}

// A slot that another uses cannot be counted on, also if no record waits for it there.
func TestSlots_UsableWhileTheOtherHasNoBacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSharing(4)
		one := s.add(t, "one", 1, 0, random)
		s.add(t, "other", 1, 1, constant(time.Minute))
		synctest.Wait()
		if u := one.r.Usable(50); u != 3 {
			t.Errorf("the one may count on %d slots, want the three that are free", u)
		}
		time.Sleep(2 * time.Minute)
	})
}
