package bulk_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/bulk"
	"github.com/sqsbatch/sqsbatch/internal/valuectx"
)

type tenant struct{}

func TestTheChunksContext(t *testing.T) {
	inWorld(t, false, func(w *world) {
		w.run.Concurrency, w.run.RecordTimeout, w.cfg.Linger = 10, 5*time.Second, 2*time.Second
		w.wrap = around(func(ctx context.Context, r batch.Record, h batch.Handler) error {
			if r.Body == "later" {
				time.Sleep(time.Second)
			}
			cut, cancel := context.WithTimeout(valuectx.With(ctx, tenant{}, r.Body), 5*time.Second)
			defer cancel()
			return h.Handle(cut, r)
		})
		w.do = func(ctx context.Context, items []bulk.Item[string]) error {
			deadline, ok := ctx.Deadline()
			if got := deadline.Sub(w.began); !ok || got != 5*time.Second {
				t.Errorf("the deadline is in %v (%v), want that of the first, 5s", got, ok)
			}
			if r, _ := batch.RecordFrom(ctx); ctx.Value(tenant{}) != "first" || r.Body != "first" {
				t.Errorf("the values are of %v", ctx.Value(tenant{}))
			}
			// What the function hands on is not the record: it can be handled at once.
			if err := bulk.New(text, nothing, bulk.Config{}).Handle(ctx, batch.Record{}); err != nil || time.Since(w.began) != time.Second {
				t.Errorf("a handler inside returned %v after %v", err, time.Since(w.began))
			}
			<-ctx.Done()
			if time.Since(w.began) != 5*time.Second || ctx.Err() != context.DeadlineExceeded {
				t.Errorf("it ended after %v with %v", time.Since(w.began), ctx.Err())
			}
			return ctx.Err()
		}
		w.lambda("first", "later")
		if n := w.outcomes(); len(w.seen()) != 1 || n[batch.Retry] != 2 {
			t.Errorf("chunks %q, outcomes %v", w.seen(), n)
		}
	})
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
