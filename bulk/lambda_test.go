package bulk_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/bulk"
	"github.com/sqsbatch/sqsbatch/internal/ctxkey"
)

func TestABatchIsWrittenInChunksWithoutWaiting(t *testing.T) {
	for _, c := range []struct {
		name        string
		records     int
		cfg         bulk.Config
		concurrency int
		want        []int
		takes       time.Duration
	}{
		{"one chunk", 30, bulk.Config{}, 0, []int{30}, time.Second},
		{"one record", 1, bulk.Config{}, 0, []int{1}, time.Second},
		{"two at a time", 50, bulk.Config{MaxItems: 10}, 0, []int{10, 10, 10, 10, 10}, 3 * time.Second},
		{"one at a time", 50, bulk.Config{MaxItems: 20, Parallel: 1}, 0, []int{20, 20, 10}, 3 * time.Second},
		{"as many as run at a time", 12, bulk.Config{}, 5, []int{5, 5, 2}, 3 * time.Second},
		{"by bytes", 20, bulk.Config{MaxBytes: 15, Parallel: 1}, 0, []int{12, 8}, 2 * time.Second}, // 10 bodies of 1 byte, 10 of 2
		{"larger than the limit", 3, bulk.Config{MaxBytes: 1, Parallel: 9}, 0, []int{1, 1, 1}, time.Second},
	} {
		inWorldOf(t, c.name, false, func(t *testing.T, w *world) {
			w.cfg, w.run.Concurrency = c.cfg, c.concurrency
			w.do = func(context.Context, []bulk.Item[string]) error { time.Sleep(time.Second); return nil }
			sent := w.sendMany(c.records)
			failed := w.invoke(1000, 30*time.Second)
			got := w.sizes()
			slices.Sort(sent)
			if c.cfg.MaxBytes == 15 { // by order of joining
				for _, chunk := range w.seen() {
					if n := len(fmt.Sprint(chunk)) - len(chunk) - 1; n > 15 {
						t.Errorf("a chunk has %d bytes: %q", n, chunk)
					}
				}
			} else if !slices.Equal(got, c.want) || time.Since(w.began) != c.takes {
				t.Errorf("chunks of %v in %v, want %v in %v", got, time.Since(w.began), c.want, c.takes)
			}
			if items := w.items(); !slices.Equal(items, sent) || len(failed) > 0 || w.left() != 0 {
				t.Errorf("written %q, failed %q", items, failed)
			}
		})
	}
}

// The records of a batch may go to several bulk handlers: none of their chunks waits for more.
func TestTwoBulkHandlers_NoChunkWaits(t *testing.T) {
	inWorld(t, false, func(w *world) {
		note := func(_ context.Context, items []bulk.Item[string]) error { w.note(items); return nil }
		other := bulk.New(text, note, bulk.Config{})
		w.wrap = around(func(ctx context.Context, r batch.Record, h batch.Handler) error {
			if strings.HasPrefix(r.Body, "other") {
				return other.Handle(ctx, r)
			}
			return h.Handle(ctx, r)
		})
		w.lambda("1", "2", "other 1", "other 2", "other 3")
		if len(w.times) != 2 || w.times[0] != 0 || w.times[1] != 0 || len(w.items()) != 5 {
			t.Errorf("%q at %v, want two chunks at once", w.seen(), w.times)
		}
	})
}

// A chunk does not wait for records that cannot be decoded or never reach the handler.
func TestRecordsThatDoNotJoin_AreNotWaitedFor(t *testing.T) {
	inWorld(t, false, func(w *world) {
		w.run.Concurrency = 100
		w.wrap = around(func(ctx context.Context, r batch.Record, h batch.Handler) error {
			if r.Body == "slow" {
				time.Sleep(10 * time.Millisecond)
				return nil
			}
			return h.Handle(ctx, r)
		})
		w.lambda("1", "2", "bad 3", "slow")
		if items := w.items(); !slices.Equal(items, []string{"1", "2"}) || len(w.times) != 1 || w.times[0] != 10*time.Millisecond {
			t.Errorf("%q at %v, want 1 and 2 in one chunk after 10ms", w.seen(), w.times)
		}
		w.wantOutcomes(t, map[batch.Outcome]int{batch.Succeeded: 3, batch.DeadLettered: 1})
	})
}

func TestOneThatTakesLongIsWaitedForUpToLinger(t *testing.T) {
	inWorld(t, false, func(w *world) {
		w.run.Concurrency, w.cfg.Linger = 100, 20*time.Millisecond
		w.wrap = around(func(ctx context.Context, r batch.Record, h batch.Handler) error {
			if r.Body == "slow" {
				time.Sleep(time.Second)
			}
			return h.Handle(ctx, r)
		})
		w.lambda("1", "slow")
		wantChunks(t, w.seen(), []string{"1"}, []string{"slow"})
		if !slices.Equal(w.times, []time.Duration{20 * time.Millisecond, time.Second}) {
			t.Errorf("written at %v, want 20ms and 1s", w.times)
		}
	})
}

func TestWhatItemsAndTheFunctionReturn(t *testing.T) {
	returns := func(err error) func(context.Context, []bulk.Item[string]) error {
		return func(context.Context, []bulk.Item[string]) error { return err }
	}
	const succeeded, retry, dead = batch.Succeeded, batch.Retry, batch.DeadLettered
	for _, c := range []struct {
		name string
		do   func(ctx context.Context, items []bulk.Item[string]) error
		want [3]batch.Outcome
		err  string // of the second
	}{
		{"nil", nil, [3]batch.Outcome{succeeded, succeeded, succeeded}, ""},
		{"an error", returns(errNo), [3]batch.Outcome{retry, retry, retry}, "no"},
		{"one item failed", failing(errNo, "1"), [3]batch.Outcome{succeeded, retry, succeeded}, "no"},
		{"failed with nil", failing(nil, "1"), [3]batch.Outcome{succeeded, retry, succeeded}, "bulk: the item was failed without an error"},
		{"one for good", failing(batch.Permanent(errNo), "1"), [3]batch.Outcome{succeeded, dead, succeeded}, "no"},
		{"one for good, and an error", func(ctx context.Context, items []bulk.Item[string]) error {
			_ = failing(batch.Permanent(errNo), "1")(ctx, items)
			return fmt.Errorf("others")
		}, [3]batch.Outcome{retry, dead, retry}, "no"},
		{"the first counts", func(_ context.Context, items []bulk.Item[string]) error {
			for i := range items {
				if items[i].Value == "1" {
					copied := items[i]
					copied.Fail(errNo)
					items[i].Fail(batch.Permanent(fmt.Errorf("later")))
				}
			}
			return nil
		}, [3]batch.Outcome{succeeded, retry, succeeded}, "no"},
		{"a panic", func(context.Context, []bulk.Item[string]) error { panic("oops") }, [3]batch.Outcome{retry, retry, retry}, "handler panicked: oops"},
		{"an error whose methods panic", returns((*batch.MalformedError)(nil)),
			[3]batch.Outcome{retry, retry, retry}, "handler panicked: runtime error: invalid memory address or nil pointer dereference"},
		{"Goexit", func(context.Context, []bulk.Item[string]) error { runtime.Goexit(); return nil },
			[3]batch.Outcome{retry, retry, retry}, "handler called runtime.Goexit"},
		{"items changed and kept", func(_ context.Context, items []bulk.Item[string]) error {
			for i := range items {
				items[i].Record.Body = "changed"
				go func() { time.Sleep(time.Minute); items[i].Fail(errNo) }()
			}
			return nil
		}, [3]batch.Outcome{succeeded, succeeded, succeeded}, ""},
		{"replaced by an item of the function's own", func(_ context.Context, items []bulk.Item[string]) error {
			i := slices.IndexFunc(items, func(i bulk.Item[string]) bool { return i.Value == "1" })
			items[i] = bulk.Item[string]{Value: "new"}
			items[i].Fail(errNo)
			return nil
		}, [3]batch.Outcome{succeeded, retry, succeeded}, "no"},
		{"replaced and moved", func(_ context.Context, items []bulk.Item[string]) error {
			i := slices.IndexFunc(items, func(i bulk.Item[string]) bool { return i.Value == "1" })
			moved := (i + 1) % 3
			items[i], items[moved] = items[moved], bulk.Item[string]{Value: "new", Record: items[i].Record}
			items[moved].Fail(errNo)
			return nil
		}, [3]batch.Outcome{succeeded, retry, succeeded}, "no"},
		{"failed by goroutines", func(_ context.Context, items []bulk.Item[string]) error {
			var all sync.WaitGroup
			for i := range items {
				all.Go(func() { items[i].Fail(errNo) })
			}
			all.Wait()
			return nil
		}, [3]batch.Outcome{retry, retry, retry}, "no"},
	} {
		inWorldOf(t, c.name, false, func(t *testing.T, w *world) {
			w.do = c.do
			w.sendMany(3)
			w.invoke(10, 30*time.Second)
			for i, want := range c.want {
				if r := w.result(fmt.Sprint(i)); r.Outcome != want {
					t.Errorf("%d is %v, want %v: %v", i, r.Outcome, want, r.Err)
				}
			}
			if err := w.result("1").Err; err != nil && err.Error() != c.err || err == nil && c.err != "" {
				t.Errorf("the error is %v, want %q", err, c.err)
			}
		})
	}
}

//go:noinline
func deep() error { panic("deep") }

func TestAPanicHasTheFunctionsStack(t *testing.T) {
	inWorld(t, false, func(w *world) {
		w.do = func(context.Context, []bulk.Item[string]) error { return deep() }
		w.sendMany(2)
		w.invoke(10, 30*time.Second)
		for _, body := range []string{"0", "1"} {
			var p *batch.PanicError
			if err := w.result(body).Err; !errors.As(err, &p) || !strings.Contains(string(p.Stack), "bulk_test.deep") {
				t.Errorf("%s failed with %v, the stack is of %+v", body, err, p)
			}
		}
	})
}

// What waits for its turn is not written to what is down.
func TestAnAbortPutsOffWhatHasNotBegun(t *testing.T) {
	for name, abort := range map[string]func(items []bulk.Item[string]) error{
		"of the function": func([]bulk.Item[string]) error { return batch.Abort(time.Minute, errNo) },
		"of an item": func(items []bulk.Item[string]) error {
			items[1].Fail(batch.Abort(time.Minute, errNo))
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, fifo := range []bool{false, true} {
				inWorld(t, fifo, func(w *world) {
					w.cfg, w.run.Concurrency = bulk.Config{MaxItems: 2, Parallel: 1}, 10
					w.do = func(_ context.Context, items []bulk.Item[string]) error {
						time.Sleep(5 * time.Second)
						return abort(items)
					}
					w.Send("a:0", "b:0", "c:0", "d:0", "e:0", "f:0", "g:0")
					w.invoke(10, 60*time.Second)
					if len(w.seen()) != 1 || time.Since(w.began) > 10*time.Second {
						t.Errorf("chunks %q, after %v", w.seen(), time.Since(w.began))
					}
					for _, body := range []string{"a:0", "b:0", "c:0", "d:0", "e:0", "f:0", "g:0"} {
						if slices.Contains(w.items(), body) {
							continue // in the chunk that was written, of any two
						}
						if r := w.result(body); r.Outcome != batch.Retry || r.VisibleIn < time.Minute {
							t.Errorf("%s is %v, back in %v: %v", body, r.Outcome, r.VisibleIn, r.Err)
						}
					}
				})
			}
		})
	}
}

type tenant struct{}

// delivery is the key of a value that all records of a batch have.
type delivery struct{}

func (w *world) BatchContext(ctx context.Context, _ batch.BatchInfo, _ []batch.Record) context.Context {
	return context.WithValue(ctx, delivery{}, "batch")
}

// wantValues wants the values of one record, or of none.
func wantValues(t *testing.T, ctx context.Context, of string) {
	t.Helper()
	r, _ := batch.RecordFrom(ctx)
	got, _ := ctx.Value(tenant{}).(string)
	if got != of || r.Body != of || ctx.Value(delivery{}) != "batch" {
		t.Errorf("the context has the values of %q, %q and of %v, want %q and of the batch", got, r.Body, ctx.Value(delivery{}), of)
	}
}

func TestTheChunksContext(t *testing.T) {
	for _, poll := range []bool{false, true} {
		inWorld(t, false, func(w *world) {
			w.run.Concurrency, w.run.RecordTimeout, w.cfg.Linger = 10, 5*time.Second, 2*time.Second
			w.wrap = around(func(ctx context.Context, r batch.Record, h batch.Handler) error {
				if r.Body == "later" {
					time.Sleep(time.Second)
				}
				cut, cancel := context.WithTimeout(ctxkey.With(ctx, tenant{}, r.Body), 5*time.Second)
				defer cancel()
				return h.Handle(cut, r)
			})
			w.do = func(ctx context.Context, items []bulk.Item[string]) error {
				if items[0].Record.Attempt > 1 {
					return nil
				}
				began := time.Now()
				deadline, ok := ctx.Deadline()
				if got := deadline.Sub(w.began); !ok || got != 5*time.Second {
					t.Errorf("the deadline is in %v (%v), want that of the first, 5s", got, ok)
				}
				wantValues(t, ctx, "")
				wantValues(t, bulk.Context(ctx, items...), "")
				for i := range items {
					wantValues(t, bulk.Context(ctx, items[i]), items[i].Value)
				}
				// What the function hands on is not the record: it can be handled at once.
				for _, ctx := range []context.Context{ctx, bulk.Context(ctx, items[0])} {
					if err := bulk.New(text, nothing, bulk.Config{}).Handle(ctx, batch.Record{}); err != nil || time.Since(began) != 0 {
						t.Errorf("a handler inside returned %v after %v", err, time.Since(began))
					}
				}
				synctest.Wait() // until the others wait, too
				goroutines := runtime.NumGoroutine()
				own, cancel := context.WithTimeout(bulk.Context(ctx, items[0]), time.Hour)
				defer cancel()
				if more := runtime.NumGoroutine() - goroutines; more != 0 {
					t.Errorf("a context derived from an item's has %d goroutines", more)
				}
				<-own.Done()
				if time.Since(w.began) != 5*time.Second || ctx.Err() != context.DeadlineExceeded || context.Cause(own) != context.DeadlineExceeded {
					t.Errorf("it ended after %v with %v, an item's with %v", time.Since(w.began), ctx.Err(), context.Cause(own))
				}
				return ctx.Err()
			}
			if w.Send("first", "later"); poll {
				w.poll(20 * time.Second)
			} else {
				w.invoke(10, 30*time.Second)
			}
			if n := w.outcomes(); len(w.seen()) < 1 || len(w.seen()[0]) != 2 || n[batch.Retry] != 2 {
				t.Errorf("chunks %q, outcomes %v", w.seen(), n)
			}
		})
	}
}

// At the end of an invocation a function that respects its context is no longer
// waited for than any handler, and what it has done counts.
func TestTheEndOfAnInvocation(t *testing.T) {
	for _, fifo := range []bool{false, true} {
		inWorld(t, fifo, func(w *world) {
			w.do = func(ctx context.Context, items []bulk.Item[string]) error {
				<-ctx.Done()
				time.Sleep(10 * time.Millisecond) // and still gets it done
				return nil
			}
			w.Send("a:0", "a:1", "a:2")
			if failed := w.invoke(10, 10*time.Second); len(failed) > 0 || len(w.seen()) != 1 || time.Since(w.began) > 10*time.Second {
				t.Errorf("failed %q after %v, chunks %q", failed, time.Since(w.began), w.seen())
			}
			w.wantOutcomes(t, map[batch.Outcome]int{batch.Succeeded: 3})
		})
	}
}

// A record whose time is over before its chunk has a place leaves it, and others
// are written without it.
func TestARecordLeavesAChunkThatHasNotBegun(t *testing.T) {
	inWorld(t, false, func(w *world) {
		w.cfg = bulk.Config{MaxItems: 2, Parallel: 1}
		w.run.Concurrency = 10
		w.wrap = around(func(ctx context.Context, r batch.Record, h batch.Handler) error {
			if r.Body >= "3" {
				time.Sleep(time.Second)
			}
			if r.Body == "3" {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, time.Second)
				defer cancel()
			}
			return h.Handle(ctx, r)
		})
		w.do = func(context.Context, []bulk.Item[string]) error { time.Sleep(4 * time.Second); return nil }
		w.Send("1", "2", "3", "4")
		w.invoke(10, 60*time.Second)
		if got := w.seen(); len(got) != 2 || len(got[0]) != 2 || !slices.Equal(got[1], []string{"4"}) || w.times[1] != 4*time.Second {
			t.Errorf("chunks %q at %v, want the second to be 4, after 4s", got, w.times)
		}
		if r := w.result("3"); r.Outcome != batch.Retry || r.Duration != 2*time.Second || !errors.Is(r.Err, context.DeadlineExceeded) {
			t.Errorf("3 is %v after %v: %v", r.Outcome, r.Duration, r.Err)
		}
	})
}

// What waits for a place at the end of the invocation is not begun when the place
// is free then.
func TestNoChunkIsBegunAtTheEnd(t *testing.T) {
	inWorld(t, false, func(w *world) {
		w.cfg, w.run.Concurrency = bulk.Config{MaxItems: 1, Parallel: 1}, 20
		w.do = func(ctx context.Context, _ []bulk.Item[string]) error { <-ctx.Done(); return ctx.Err() }
		w.sendMany(20)
		w.invoke(20, 10*time.Second)
		if n := w.outcomes(); len(w.seen()) != 1 || n[batch.Retry] != 20 {
			t.Errorf("chunks %q, outcomes %v", w.seen(), n)
		}
	})
}

func TestNothingIsSaidOfAnItemAfterwards(t *testing.T) {
	inWorld(t, false, func(w *world) {
		var kept *bulk.Item[string]
		w.do = func(_ context.Context, items []bulk.Item[string]) error { kept = &items[0]; return nil }
		w.sendMany(1)
		w.invoke(1, 10*time.Second)
		if kept.Fail(errNo); kept.Err() != nil {
			t.Errorf("the item failed after it was done: %v", kept.Err())
		}
	})
}
