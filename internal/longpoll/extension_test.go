package longpoll_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
)

// A heartbeat that is carried out late must not hide again what was
// released, or is to come back after its backoff.
func TestLateExtension_DoesNotUndoABackoff(t *testing.T) {
	h := func(ctx context.Context, r batch.Record) error {
		if r.Attempt > 1 {
			return nil
		}
		select {
		case <-time.After(21500 * time.Millisecond): // while the extension is under way
			return batch.RetryAfter(3*time.Second, errors.New("again"))
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	inWorld(t, standardQueue, h, nil, func(w *world) {
		w.inject(sqs.Fault{Kind: sqs.Latency, Operation: extension, Latency: 2 * time.Second, Times: 1})
		w.Send("a")
		w.start()
		w.after(21700 * time.Millisecond)
		if len(w.Server().Calls(extension)) != 0 || w.count(extension) != 1 {
			t.Fatal("no extension is under way: the test tests nothing")
		}
		w.after(10 * time.Second)
		if got := w.returned("a"); len(got) != 1 || got[0] > 26 {
			t.Errorf("the record came back at %v s, want 3 s after its failure at 21.5 s", got)
		}
		if w.deleted() != 1 {
			t.Errorf("%d were deleted, want 1", w.deleted())
		}
	})
}

func TestLateExtension_DoesNotUndoARelease(t *testing.T) {
	h := func(_ context.Context, r batch.Record) error {
		if r.Body == "slow" {
			time.Sleep(5 * time.Minute)
		}
		return nil
	}
	inWorld(t, standardQueue, h, func(c *longpoll.Config) { c.Engine.Concurrency = 1 }, func(w *world) {
		w.inject(latency(5 * time.Millisecond))
		w.Send(numbered(30, "quick")...)
		w.Send("slow", "a", "b", "c")
		w.start()
		w.after(5 * time.Second)
		if w.p.Status().Waiting == 0 {
			t.Fatal("nothing waits: the test tests nothing")
		}
		w.Server().ClearFaults()
		w.inject(sqs.Fault{Kind: sqs.Latency, Operation: extension, Latency: 2 * time.Second, Times: 1})
		for w.count(extension) == 0 {
			w.after(100 * time.Millisecond)
		}
		w.p.Pause()
		w.after(5 * time.Second)
		if n := w.visible(); n != 3 {
			t.Errorf("%d of 3 are visible, the extension hid them again", n)
		}
	})
}

func TestFailedRecord_IsNotExtended(t *testing.T) {
	h := func(_ context.Context, r batch.Record) error {
		if r.Body == "slow" {
			time.Sleep(time.Minute)
			return nil
		}
		time.Sleep(19950 * time.Millisecond) // its backoff lingers when extensions are due
		return batch.RetryAfter(30*time.Second, errors.New("boom"))
	}
	inWorld(t, standardQueue, h, nil, func(w *world) {
		w.Send("slow", "fails")
		w.start()
		w.after(25 * time.Second)
		for _, e := range w.Events(sqs.Visibility) {
			if e.Body == "fails" && e.Visibility != 30*time.Second {
				t.Errorf("it was hidden for %v after its failure", e.Visibility)
			}
		}
	})
}

// What was skipped for a failure is not extended any more.
func TestSkippedRecords_AreNotExtended(t *testing.T) {
	h := func(_ context.Context, r batch.Record) error {
		if r.Body == "g:1" && r.Attempt == 1 {
			return batch.RetryAfter(40*time.Second, errors.New("not yet"))
		}
		return nil
	}
	inWorld(t, fifoQueue, h, nil, func(w *world) {
		w.Send("g:1", "g:2", "g:3")
		w.start()
		w.after(39 * time.Second)
		w.wantHandled("g:1")
		if n := w.p.Status().Counts.Extensions; n != 0 {
			t.Errorf("%d extensions of what failed or was skipped", n)
		}
		w.after(2 * time.Second)
		w.wantHandled("g:1", "g:1", "g:2", "g:3")
	})
}

func TestReleasedRecords_AreNotExtended(t *testing.T) {
	inWorld(t, standardQueue, slowing, func(c *longpoll.Config) { c.Engine.Concurrency = 2 }, func(w *world) {
		w.inject(latency(5 * time.Millisecond))
		w.Send(numbered(60, "")...)
		w.start()
		w.after(600 * time.Millisecond)
		w.p.Pause()
		w.after(5 * time.Minute)
		if n := w.p.Status().Counts.Extensions; n != 0 {
			t.Errorf("%d extensions, want none: nothing ran for longer than a second", n)
		}
	})
}

func TestExtensionsFailForAWhile_Recover(t *testing.T) {
	for _, kind := range []sqs.FaultKind{sqs.Failure, sqs.Refused, sqs.Throttled, sqs.Hang} {
		inWorld(t, standardQueue, lasting(3*time.Minute), nil, func(w *world) {
			w.Send("a")
			w.start()
			w.inject(sqs.Fault{Kind: kind, Operation: extension})
			w.after(45 * time.Second)
			if n := w.count(extension); n > 27 {
				t.Errorf("%s: %d extensions were tried in 25 s, want at most one a second", kind, n)
			}
			if got := w.warningsWith("visibility fails"); len(got) != 1 {
				t.Errorf("%s: warned of %q, want one line", kind, got)
			}
			w.Server().ClearFaults()
			w.after(3 * time.Minute)
			if n := len(w.Events(sqs.Returned)); n != 0 || w.deleted() != 1 {
				t.Errorf("%s: %d came back, %d deleted; want 0 and 1", kind, n, w.deleted())
			}
			if got := w.warningsWith("visibility works again"); len(got) != 1 {
				t.Errorf("%s: warned of %q, want one line", kind, got)
			}
			if len(w.warnings) != 2 {
				t.Errorf("%s: warned of %q", kind, w.warnings)
			}
		})
	}
}

// An extension whose answer is lost is made again, and harms nothing.
func TestExtensionAnswersLost_LeaseIsKept(t *testing.T) {
	inWorld(t, standardQueue, lasting(3*time.Minute), nil, func(w *world) {
		w.inject(sqs.Fault{Kind: sqs.LostAnswer, Operation: extension, Times: 5})
		w.Send("a")
		w.start()
		w.after(4 * time.Minute)
		if n := len(w.Events(sqs.Returned)); n != 0 || w.deleted() != 1 || w.p.Status().Counts.Lost != 0 {
			t.Errorf("%d came back, %d deleted, %d lost; want 0, 1 and 0", n, w.deleted(), w.p.Status().Counts.Lost)
		}
	})
}

// Entries that SQS fails for a passing reason are extended again, the others not.
func TestExtensionEntriesFail_AreRetried(t *testing.T) {
	inWorld(t, standardQueue, lasting(3*time.Minute), nil, func(w *world) {
		w.inject(sqs.Fault{Kind: sqs.EntryFailure, Operation: extension, Probability: 0.3})
		w.Send(numbered(10, "")...)
		w.start()
		w.after(4 * time.Minute)
		if n := len(w.Events(sqs.Returned)); n != 0 || w.deleted() != 10 || w.p.Status().Counts.Lost != 0 {
			t.Errorf("%d came back, %d deleted, %d lost; want 0, 10 and 0", n, w.deleted(), w.p.Status().Counts.Lost)
		}
	})
}

// Without permission to extend, a record is handled as long as its visibility
// lasts, and the log says what is missing.
func TestExtensionDenied_RecordFinishesWithinVisibility(t *testing.T) {
	inWorld(t, standardQueue, lasting(30*time.Second), nil, func(w *world) {
		w.inject(sqs.Fault{Kind: sqs.Failure, Operation: extension, Code: "AccessDenied"})
		w.Send("a")
		w.start()
		w.after(40 * time.Second)
		if w.deleted() != 1 {
			t.Errorf("%d were deleted, want 1", w.deleted())
		}
		if got := w.warningsWith("sqs:ChangeMessageVisibility"); len(got) != 1 {
			t.Errorf("warned of %q", w.warnings)
		}
	})
}

// A backoff counts from the failure, whatever was extended before.
func TestFailureAfterExtensions_BackoffCountsFromFailure(t *testing.T) {
	h := func(_ context.Context, r batch.Record) error {
		if r.Attempt == 1 {
			time.Sleep(90 * time.Second)
			return errors.New("boom")
		}
		return nil
	}
	inWorld(t, standardQueue, h, func(c *longpoll.Config) { c.Failures.Backoff = func(int) time.Duration { return 7 * time.Second } }, func(w *world) {
		w.Send("a")
		w.start()
		w.after(2 * time.Minute)
		if got := w.returned("a"); len(got) != 1 || got[0] < 96.9 || got[0] > 98.1 {
			t.Errorf("came back at %v s, want 7 s after the failure at 90 s", got)
		}
	})
}
