package runner_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/test/testhooks"
)

// held is a delivery with all that it points to.
type held struct {
	runner.Delivery
	record batch.Record
	result batch.Result
}

// chain is a FIFO group of deliveries with these ids.
func chain(ids ...string) (list []*runner.Delivery) {
	for _, id := range ids {
		h := &held{record: batch.Record{MessageID: id, Body: id, GroupID: "g", QueueARN: fifoARN, ReceivedAt: time.Now()}}
		h.Record, h.Result = &h.record, &h.result
		list = append(list, &h.Delivery)
	}
	return list
}

// open runs script with a runner that deliveries are added to, in virtual time.
func open(t *testing.T, cfg config, h batch.HandlerFunc, script func(*owned)) {
	t.Helper()
	virtual(t, func(t *testing.T) {
		script(own(t.Context(), newEngine(t, cfg, h)))
	})
}

// soon returns, a moment later, what has finished or waits for a decision, by id.
func soon(r *owned) (finished, deciding []string) {
	synctest.Wait()
	for _, d := range r.Finished() {
		finished = append(finished, d.Record.MessageID+" "+d.Result.Outcome.String())
	}
	r.do(func() {
		for _, d := range r.deciding {
			deciding = append(deciding, d.Record.MessageID)
		}
		r.deciding = nil
	})
	slices.Sort(finished) // those of one moment are in no order
	return finished, deciding
}

func TestAddJoinsTheGroupThatRuns(t *testing.T) {
	order := make(chan string, 10)
	open(t, config{}, func(_ context.Context, r batch.Record) error {
		order <- r.MessageID
		time.Sleep(time.Second)
		return nil
	}, func(r *owned) {
		r.Add(chain("a", "b")...)
		time.Sleep(1500 * time.Millisecond)
		r.Add(chain("c")...)
		if finished, _ := soon(r); !slices.Equal(finished, []string{"a succeeded"}) {
			t.Errorf("after 1.5 s: %q", finished)
		}
		time.Sleep(3 * time.Second)
		if finished, _ := soon(r); !slices.Equal(finished, []string{"b succeeded", "c succeeded"}) || !r.Idle() {
			t.Errorf("at the end: %q", finished)
		}
		if first, second, third := <-order, <-order, <-order; first != "a" || second != "b" || third != "c" {
			t.Errorf("handled %s, %s, %s", first, second, third)
		}
	})
}

func TestResolveDecidesWhatBecomesOfTheGroup(t *testing.T) {
	fails := func(_ context.Context, r batch.Record) error {
		if r.MessageID == "bad" {
			return errNo
		}
		return nil
	}
	open(t, config{Concurrency: 1, RecordTimeout: time.Second}, fails, func(r *owned) {
		group := chain("bad", "b")
		r.Add(group...)
		if _, deciding := soon(r); !slices.Equal(deciding, []string{"bad"}) || r.Count().Slots != 0 {
			t.Fatalf("deciding %q, %+v; want the first, and its slot free", deciding, r.Count())
		}
		time.Sleep(time.Hour) // a decision has no deadline here
		group[0].Result.Outcome = batch.DeadLettered
		r.Resolve(group[0], true)
		r.Resolve(group[0], false) // too late
		if finished, _ := soon(r); !slices.Equal(finished, []string{"b succeeded", "bad dead-letter"}) {
			t.Errorf("put out of the way: %q", finished)
		}
		group = chain("bad", "b", "c")
		r.Add(group...)
		synctest.Wait()
		r.Resolve(group[0], false)
		if finished, _ := soon(r); !slices.Equal(finished, []string{"bad retry"}) ||
			!slices.EqualFunc(resultsOf(group[0]), []batch.Outcome{batch.Retry, batch.Skipped, batch.Skipped}, func(r *batch.Result, o batch.Outcome) bool { return r.Outcome == o }) {
			t.Errorf("not put out of the way: %q, %v", finished, resultsOf(group[0]))
		}
	})
}

func TestALeaseThatExpiredStartsNothing(t *testing.T) {
	open(t, config{}, func(context.Context, batch.Record) error {
		time.Sleep(time.Second)
		return nil
	}, func(r *owned) {
		group := chain("a", "b", "c")
		r.Add(group...)
		r.Extend(group[1], time.Now().Add(time.Second))
		time.Sleep(time.Second)
		finished, _ := soon(r)
		if !slices.Equal(finished, []string{"a succeeded", "b retry"}) || !errors.Is(group[1].Result.Err, runner.ErrLost) || !group[1].Result.Started.IsZero() {
			t.Errorf("%q, %+v", finished, group[1].Result)
		}
		if len(resultsOf(group[1])) != 2 {
			t.Errorf("what was behind it is not reported: %v", resultsOf(group[1]))
		}
	})
}

func TestPauseAndWithdrawLeaveOnlyWhatRuns(t *testing.T) {
	open(t, config{Concurrency: 2}, func(context.Context, batch.Record) error {
		time.Sleep(time.Second)
		return nil
	}, func(r *owned) {
		var single []*runner.Delivery
		for _, record := range standard(3) {
			h := &held{record: record}
			h.Record, h.Result = &h.record, &h.result
			single = append(single, &h.Delivery)
		}
		r.Add(append(chain("a", "b"), single...)...)
		synctest.Wait()
		r.Pause()
		var back []string
		for _, d := range r.Withdraw(batch.ErrStopped) {
			back = append(back, d.Record.MessageID)
		}
		if !slices.Equal(back, []string{"m-1", "m-2", "b"}) {
			t.Errorf("back came %q", back)
		}
		time.Sleep(time.Second)
		if finished, _ := soon(r); !slices.Equal(finished, []string{"a succeeded", "m-0 succeeded"}) || !r.Idle() {
			t.Errorf("finished %q", finished)
		}
		r.Add(chain("c")...)
		if finished, _ := soon(r); len(finished) != 0 {
			t.Errorf("held: %q", finished)
		}
		r.Resume(1)
		time.Sleep(time.Second)
		if finished, _ := soon(r); !slices.Equal(finished, []string{"c succeeded"}) {
			t.Errorf("released: %q", finished)
		}
	})
}

// What ignores the end of its context is given up after the grace, and counts until
// it returns.
func TestGivesUpWhatIgnoresItsEnd(t *testing.T) {
	for name, c := range map[string]struct {
		cfg   config
		end   func(*owned, *runner.Delivery)
		after time.Duration
	}{
		"Cancel":         {config{}, func(r *owned, _ *runner.Delivery) { r.Cancel(context.Canceled); r.Cancel(context.Canceled) }, time.Second},
		"Revoke":         {config{}, func(r *owned, d *runner.Delivery) { r.Revoke(d) }, time.Second},
		"record timeout": {config{RecordTimeout: 10 * time.Second}, func(*owned, *runner.Delivery) {}, 11 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			open(t, c.cfg, func(context.Context, batch.Record) error {
				time.Sleep(time.Minute)
				return nil
			}, func(r *owned) {
				d := chain("a")[0]
				r.Add(d)
				synctest.Wait()
				c.end(r, d)
				time.Sleep(c.after - time.Millisecond)
				if finished, _ := soon(r); len(finished) != 0 {
					t.Errorf("before the grace was over: %q", finished)
				}
				time.Sleep(time.Millisecond)
				if finished, _ := soon(r); !slices.Equal(finished, []string{"a abandoned"}) || r.Count().Abandoned != 1 || r.Count().Slots != 0 {
					t.Errorf("%q, %+v", finished, r.Count())
				}
				time.Sleep(time.Minute)
				if finished, _ := soon(r); len(finished) != 0 || r.Count().Abandoned != 0 {
					t.Errorf("after its return: %q, %+v", finished, r.Count())
				}
			})
		})
	}
}

// One timer serves all that runs: each deadline counts, also after the earliest was of a
// record that has finished since.
func TestEachDeadlineCounts(t *testing.T) {
	takes := map[string]time.Duration{"quick": time.Second, "slow": time.Minute, "slower": time.Minute, "late": time.Minute}
	within := map[string]time.Duration{"quick": 5 * time.Second, "slow": 20 * time.Second, "slower": 30 * time.Second, "late": 2 * time.Second}
	var began time.Time
	ended := make(chan string, 10)
	open(t, config{}, func(ctx context.Context, r batch.Record) error {
		err := wait(ctx, takes[r.MessageID], true)
		ended <- r.MessageID + " after " + time.Since(began).String()
		return err
	}, func(r *owned) {
		began = time.Now()
		add := func(ids ...string) {
			for _, id := range ids {
				h := &held{record: batch.Record{MessageID: id, QueueARN: standardARN, ReceivedAt: time.Now()}}
				h.Record, h.Result, h.Within = &h.record, &h.result, within[id]
				r.Add(&h.Delivery)
			}
		}
		add("slower", "quick", "slow")
		time.Sleep(10 * time.Second)
		add("late") // the earliest again
		time.Sleep(time.Hour)
		add("quick") // after a time with nothing to watch
		time.Sleep(time.Hour)
		var got []string
		for len(ended) > 0 {
			got = append(got, <-ended)
		}
		if want := []string{"quick after 1s", "late after 12s", "slow after 20s", "slower after 30s", "quick after 1h0m11s"}; !slices.Equal(got, want) {
			t.Errorf("ended %q, want %q", got, want)
		}
	})
}

func TestRevoke_StartsNothingThatWaits(t *testing.T) {
	open(t, config{Concurrency: 1}, func(context.Context, batch.Record) error {
		time.Sleep(time.Second)
		return nil
	}, func(r *owned) {
		group := chain("a", "b")
		r.Add(group...)
		r.Revoke(group[1]) // at the moment of its receipt
		time.Sleep(time.Second)
		if finished, _ := soon(r); !slices.Equal(finished, []string{"a succeeded", "b retry"}) || !errors.Is(group[1].Result.Err, runner.ErrLost) {
			t.Errorf("%q, %v", finished, group[1].Result.Err)
		}
	})
}

// Others may have handled the record while a hook blocked.
func TestLeaseEndsDuringHook_RecordIsNotHandled(t *testing.T) {
	handled := 0
	open(t, config{Hooks: testhooks.Of(onStart(func(context.Context, *batch.Record) { time.Sleep(6 * time.Second) }))}, func(context.Context, batch.Record) error {
		handled++
		return nil
	}, func(r *owned) {
		group := chain("a", "b")
		for _, d := range group {
			d.HiddenUntil = time.Now().Add(5 * time.Second)
		}
		r.Add(group...)
		time.Sleep(6 * time.Second)
		synctest.Wait()
		if len(r.deciding) != 1 || handled != 0 || !errors.Is(r.deciding[0].Result.Err, runner.ErrLost) {
			t.Errorf("handled %d, deciding %v", handled, r.deciding)
		}
	})
}

// A lease counts from the receipt that it came with.
func TestRenew_ExtendsTheLease(t *testing.T) {
	open(t, config{}, func(context.Context, batch.Record) error {
		time.Sleep(12 * time.Second)
		return nil
	}, func(r *owned) {
		received := func() []*runner.Delivery {
			group := chain("a", "b", "c")
			for _, d := range group {
				d.HiddenUntil = time.Now().Add(10 * time.Second)
			}
			return group
		}
		group := received()
		r.Add(group...)
		time.Sleep(5 * time.Second)
		again := received()
		r.Renew(group[0], again[0]) // runs
		r.Renew(group[1], again[1]) // waits
		time.Sleep(20 * time.Second)
		if finished, _ := soon(r); !slices.Equal(finished, []string{"a succeeded", "b succeeded", "c retry"}) || group[1].Record != again[1].Record {
			t.Errorf("%q", finished)
		}
	})
}

// What joined the group after a chunk was made is not in it.
func TestViewNext_GoesOnOnlyWithWhatWasThere(t *testing.T) {
	for _, revoked := range []bool{true, false} {
		var went []bool
		open(t, config{}, func(ctx context.Context, r batch.Record) error {
			v, _ := runner.From(ctx)
			if r.MessageID != "a" {
				return nil
			}
			if n := len(v.Behind(9)); n != 1 {
				t.Errorf("%d are behind it, want 1", n)
			}
			time.Sleep(500 * time.Millisecond) // less than the grace
			for range 2 {
				own, ok := v.Next()
				if went = append(went, ok); ok {
					v, _ = runner.From(own)
				}
			}
			return nil
		}, func(r *owned) {
			list := chain("a", "b", "d")
			r.Add(list[:2]...)
			synctest.Wait()
			if revoked {
				r.Revoke(list[0]) // which takes b back
			}
			r.Add(list[2])
			time.Sleep(time.Second)
			synctest.Wait()
			finished, _ := soon(r)
			if want := []bool{!revoked, false}; !slices.Equal(went, want) || len(finished) != map[bool]int{true: 2, false: 3}[revoked] {
				t.Errorf("revoked %v: finished %q, went on %v, want %v", revoked, finished, went, want)
			}
		})
	}
}

// A hook that returns after the grace is noticed when it does, also where records were handled
// together with the one before them.
func TestRun_NoticesAHookThatReturnsLate(t *testing.T) {
	virtual(t, func(t *testing.T) {
		hook := onFinish(func(_ context.Context, r batch.Result) {
			if r.Outcome == batch.Succeeded {
				time.Sleep(2400 * time.Millisecond)
			}
		})
		began := time.Now()
		invoke(t, 4*time.Second, fifo("g", "g", "g"), config{Reserve: 2 * time.Second, Grace: 50 * time.Millisecond, Hooks: testhooks.Of(hook)},
			func(ctx context.Context, _ batch.Record) error {
				v, _ := runner.From(ctx)
				v.Behind(9)
				for ok := true; ok; {
					if ctx, ok = v.Next(); ok {
						v, _ = runner.From(ctx)
					}
				}
				return nil
			})
		if took := time.Since(began); took > 3400*time.Millisecond {
			t.Errorf("Run took %v, want no longer than the hook", took)
		}
	})
}

// A record that was decided is over for its owner when its hook has returned.
func TestResolve_OwnerIsWokenAfterASlowHook(t *testing.T) {
	virtual(t, func(t *testing.T) {
		slow := onFinish(func(context.Context, batch.Result) { time.Sleep(time.Second) })
		e := newEngine(t, config{Concurrency: 1, Hooks: testhooks.Of(slow)}, func(context.Context, batch.Record) error {
			return batch.Permanent(errors.New("no"))
		})
		o := own(t.Context(), e)
		o.Add(chain("a", "b")...)
		time.Sleep(time.Minute)
		deciding := locked(o, func() []*runner.Delivery { return o.deciding })
		if len(deciding) != 1 {
			t.Fatalf("%d records wait for a decision, want one", len(deciding))
		}
		o.Withdraw(batch.ErrStopped)
		o.Resolve(deciding[0], true)
		for !o.Idle() {
			select {
			case <-o.wake:
			case <-time.After(time.Minute):
				t.Fatal("the owner is not woken")
			}
		}
	})
}

// What a view says of a record comes from its owner.
func TestView_LastAttemptAndHiddenFor(t *testing.T) {
	virtual(t, func(t *testing.T) {
		var last bool
		var hidden time.Duration
		e := newEngine(t, config{}, func(ctx context.Context, _ batch.Record) error {
			view, ok := runner.From(ctx)
			last, hidden = ok && view.LastAttempt(), view.HiddenFor()
			return nil
		})
		for _, want := range []bool{true, false} {
			var mu sync.Mutex
			r := e.NewRunner(t.Context(), runner.Options{Lock: &mu, LastAttempt: func(*batch.Record) bool { return want }})
			d := many(1)[0]
			if want {
				d.HiddenUntil = time.Now().Add(time.Minute)
			}
			mu.Lock()
			r.Add(d)
			mu.Unlock()
			synctest.Wait()
			if last != want || (hidden == time.Minute) != want || !want && hidden != 0 {
				t.Errorf("the view says %v and %v, want %v", last, hidden, want)
			}
		}
	})
}

// waiters are handlers that wait until no other record will join them.
type waiters struct{ list []chan struct{} }

func (w *waiters) Waiting() int { return len(w.list) }

func (w *waiters) Idle() {
	for _, end := range w.list {
		close(end)
	}
	w.list = nil
}

// Handlers that wait for others go on when all slots wait, although more records are ready.
func TestShared_IdleWhenAllSlotsWait(t *testing.T) {
	virtual(t, func(t *testing.T) {
		var mu sync.Mutex
		engine := newEngine(t, config{Concurrency: 2}, func(ctx context.Context, _ batch.Record) error {
			view, _ := runner.From(ctx)
			end := make(chan struct{})
			w := view.Shared("key", func() runner.Shared { return &waiters{} }).(*waiters)
			mu.Lock()
			w.list = append(w.list, end)
			mu.Unlock()
			view.Joined()
			select {
			case <-end:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		wantOutcomes(t, engine.Run(ctx, standard(3), runner.Options{Times: engine.Times(ctx), Lock: &mu}), batch.Succeeded, batch.Succeeded, batch.Succeeded)
	})
}
