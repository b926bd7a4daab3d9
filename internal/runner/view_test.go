package runner_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/test/testhooks"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/runner"
)

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
