package settle_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// down aborts with the records that say so, when those that run have begun.
func down(ctx context.Context, r batch.Record) error {
	if strings.HasSuffix(r.Body, "down") {
		time.Sleep(time.Second)
		return batch.Abort(90*time.Second, errors.New("the database is down"))
	}
	return slowly(ctx, r)
}

// What was not started comes back with the record that aborted; what ran goes on.
func TestAbortReleasesWhatWasNotStarted(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		f.Send("1:down", "2:slow", "3:ok", "4:fail")
		f.engine.Concurrency = 2
		results := f.invoke(f.Receive(10), down)
		f.wantOutcomes(results, "map[1:down:retry 2:slow:succeeded 3:ok:not-started 4:fail:not-started]")
		for _, r := range []batch.Result{results[0], results[2], results[3]} {
			if !batch.VerdictOf(r.Err).Aborts || r.VisibleIn != 90*time.Second || !r.VisibilitySet {
				t.Errorf("%s: %v, back in %v (%v)", r.Record.Body, r.Err, r.VisibleIn, r.VisibilitySet)
			}
		}
		if err := results[3].Err; !errors.Is(err, batch.ErrAborted) || !errors.Is(err, batch.ErrNotStarted) ||
			err.Error() != "not started: the batch was aborted: the database is down" {
			t.Errorf("%v", err)
		}
		time.Sleep(95 * time.Second)
		if n := len(f.visible()); n != 3 {
			t.Errorf("%d are visible after the time of the abort, want 3", n)
		}
	})
}

// Each group comes back as a whole, in order.
func TestAbortKeepsTheOrder(t *testing.T) {
	inBubble(t, fifoQueue, func(f *fixture) {
		f.Send("a:1", "a:down", "a:2", "b:slow", "b:1", "c:1", "c:2")
		f.engine.Concurrency = 2
		results := f.invoke(f.Receive(10), func(ctx context.Context, r batch.Record) error { return down(ctx, r) })
		f.wantOutcomes(results, "map[a:1:succeeded a:2:skipped a:down:retry b:1:not-started b:slow:succeeded c:1:not-started c:2:not-started]")
		for _, e := range f.Events(sqs.Visibility) {
			if e.Visibility != 90*time.Second {
				t.Errorf("%s comes back in %v", e.Body, e.Visibility)
			}
		}
		for _, r := range results {
			if r.Outcome.Done() {
				f.delete(r.Record)
			}
		}
		time.Sleep(120 * time.Second)
		if got, want := fmt.Sprint(f.visible()), "[a:down a:2 b:1 c:1 c:2]"; got != want {
			t.Errorf("%v, want %v", got, want)
		}
	})
}

// The longest of several counts, also for what was not started before it was said.
func TestAbortTheLongestCounts(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		f.Send("60", "120", "30", "never")
		f.engine.Concurrency = 3
		results := f.invoke(f.Receive(10), func(_ context.Context, r batch.Record) error {
			var seconds time.Duration
			if _, err := fmt.Sscan(r.Body, &seconds); err != nil {
				t.Error("started")
			}
			time.Sleep(time.Second)
			return batch.Abort(seconds*time.Second, nil)
		})
		for i, want := range []time.Duration{60, 120, 30, 120} {
			if results[i].VisibleIn != want*time.Second {
				t.Errorf("%s: back in %v, want %v s", results[i].Record.Body, results[i].VisibleIn, int(want))
			}
		}
	})
}

// A time that a permanent failure asks for as well counts where nothing but a
// retry is left.
func TestRetryAfterOfAPermanentFailure(t *testing.T) {
	for _, policy := range []partialfailure.OnPermanent{partialfailure.Retry, partialfailure.DeadLetter} {
		inBubble(t, standardQueue, func(f *fixture) {
			f.Send("a")
			f.settling.OnPermanent = policy
			f.set("RedrivePolicy", "")
			results := f.invoke(f.Receive(10), func(context.Context, batch.Record) error {
				return errors.Join(batch.Permanent(nil), batch.RetryAfter(42*time.Second, nil))
			})
			if r := results[0]; r.Outcome != batch.Retry || r.VisibleIn != 42*time.Second {
				t.Errorf("OnPermanent %q: %v, back in %v", policy, r.Outcome, r.VisibleIn)
			}
		})
	}
}
