package runner_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/testhooks"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/runner"
)

// What joined the group after a chunk was made is not in it.
func TestViewAnswer_AnswersOnlyWhatWasThere(t *testing.T) {
	var got any
	open(t, config{}, func(ctx context.Context, r batch.Record) error {
		v, _ := runner.From(ctx)
		if r.MessageID != "a" {
			got = v.Outcome()
			return nil
		}
		if n := len(v.Behind(9)); n != 1 {
			t.Errorf("%d are behind it, want 1", n)
		}
		time.Sleep(500 * time.Millisecond) // less than the grace
		v.Answer("outcome of b")
		return nil
	}, func(r *owned) {
		list := chain("a", "b", "d")
		r.Add(list[:2]...)
		synctest.Wait()
		r.Revoke(list[0]) // which takes b back
		r.Add(list[2])
		time.Sleep(time.Second)
		synctest.Wait()
		if finished, _ := soon(r); len(finished) != 2 || got != nil {
			t.Errorf("finished %q; d is answered with %v", finished, got)
		}
	})
}

// A hook that returns after the grace is noticed when it does, also where what was
// behind its record has an answer.
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
				v.Answer("of the second", "of the third")
				return nil
			})
		if took := time.Since(began); took > 3400*time.Millisecond {
			t.Errorf("Run took %v, want no longer than the hook", took)
		}
	})
}
