package longpoll_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
)

const extension = "ChangeMessageVisibilityBatch"

// lasting takes d, or fails when its context ends.
func lasting(d time.Duration) handle {
	return func(ctx context.Context, _ batch.Record) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func TestRunningRecords_AreExtendedInTens(t *testing.T) {
	inWorld(t, standardQueue, lasting(5*time.Minute), func(c *longpoll.Config) { c.Engine.Concurrency = 40 }, func(w *world) {
		w.sendMany(40)
		w.start()
		w.after(4 * time.Minute)
		for _, c := range w.Server().Calls(extension) {
			if c.Messages != 10 || c.Failed != 0 {
				t.Errorf("an extension of %d messages, %d failed; want 10 and 0", c.Messages, c.Failed)
			}
		}
		// Visibility is 1 min: a third of it is 20 s.
		if n := len(w.Server().Calls(extension)); n < 4*11 || n > 4*12 {
			t.Errorf("%d extensions in 4 min, want one in 20 s for each ten of 40", n)
		} else if counted := w.p.Status().Counts.Extensions; counted != n {
			t.Errorf("the status counts %d extensions, not %d", counted, n)
		}
		for _, e := range w.Events(sqs.Visibility) {
			if e.Visibility != time.Minute {
				t.Errorf("extended to %v, want 1 min", e.Visibility)
			}
		}
		w.after(2 * time.Minute)
		w.wantKept(40)
		calls := w.count(extension)
		w.after(10 * time.Minute)
		if n := w.count(extension) - calls; n != 0 {
			t.Errorf("%d extensions of what is settled", n)
		}
	})
}

func TestRecordsBehindTheirGroup_AreExtended(t *testing.T) {
	inWorld(t, fifoQueue, lasting(50*time.Second), nil, func(w *world) {
		w.Send("g:1", "g:2", "g:3", "g:4", "g:5", "g:6")
		w.start()
		w.after(6 * time.Minute)
		w.wantKept(6)
		w.wantHandled("g:1", "g:2", "g:3", "g:4", "g:5", "g:6")
	})
}

func TestRecordsWaitingForASlot_AreExtended(t *testing.T) {
	h := sleepingFor("0", 15*time.Second)
	inWorld(t, standardQueue, h, func(c *longpoll.Config) { c.Engine.Concurrency, c.Visibility = 1, 6*time.Second }, func(w *world) {
		w.inject(latency(5 * time.Millisecond))
		w.Send(numbered(30, "quick")...)
		w.Send("0")
		w.Send(numbered(30, "after")...)
		w.start()
		w.after(10 * time.Second)
		w.needsWaiting()
		w.after(5 * time.Minute)
		w.wantKept(61)
	})
}

// A short visibility timeout.
func TestShortVisibility_IsExtendedInTime(t *testing.T) {
	for _, fault := range []sqs.Fault{{Kind: sqs.Latency, Latency: 50 * time.Millisecond}, {Kind: sqs.Failure, Operation: extension, Probability: 0.3}} {
		inWorld(t, standardQueue, lasting(time.Minute), func(c *longpoll.Config) { c.Visibility = 3 * time.Second }, func(w *world) {
			w.inject(fault)
			w.Send("a", "b")
			w.start()
			w.after(70 * time.Second)
			w.wantKept(2)
		})
	}
}

func TestLongHandler_IsNotExtendedPastTwelveHours(t *testing.T) {
	var ended time.Duration
	h := func(ctx context.Context, r batch.Record) error {
		<-ctx.Done()
		ended = time.Since(r.ReceivedAt)
		return ctx.Err()
	}
	inWorld(t, standardQueue, h, func(c *longpoll.Config) {
		c.Engine.RecordTimeout = 12*time.Hour - time.Minute
		c.Visibility = 10 * time.Minute
	}, func(w *world) {
		w.Send("a")
		w.start()
		received := time.Now()
		w.after(12*time.Hour - 30*time.Second)
		if got := ended; got != 12*time.Hour-time.Minute {
			t.Errorf("the record's context ended after %v, want its timeout", got)
		}
		for _, e := range w.Events(sqs.Visibility) {
			if e.Time.Add(e.Visibility).After(received.Add(12 * time.Hour)) {
				t.Errorf("extended to %v after the receipt", e.Time.Add(e.Visibility).Sub(received))
			}
		}
		for _, c := range w.Server().Calls(extension) {
			if c.Failed != 0 {
				t.Error("SQS refused an extension")
			}
		}
		if got := w.returned("a"); len(got) == 1 && got[0] < (12*time.Hour-time.Minute).Seconds() {
			t.Errorf("it came back while it was handled, after %v s", got)
		}
	})
}

// What of a group cannot be done within 12 hours is released and received anew.
func TestGroupBeyondTwelveHours_RestIsReleased(t *testing.T) {
	var most time.Duration
	h := func(ctx context.Context, r batch.Record) error {
		err := lasting(5*time.Hour)(ctx, r)
		most = max(most, time.Since(r.ReceivedAt))
		return err
	}
	inWorld(t, fifoQueue, h, func(c *longpoll.Config) {
		c.Engine.RecordTimeout, c.Visibility = 6*time.Hour, 10*time.Minute
	}, func(w *world) {
		w.Send("g:1", "g:2", "g:3", "g:4")
		w.start()
		w.after(21 * time.Hour)
		w.wantHandled("g:1", "g:2", "g:3", "g:4")
		w.wantOutcomes(batch.Succeeded, batch.Succeeded, batch.NotStarted, batch.NotStarted, batch.Succeeded, batch.Succeeded)
		if most > 12*time.Hour-time.Second {
			t.Errorf("a handler ran %v after its record's receipt", most)
		}
	})
}

func TestHeartbeatRefused_CancelsTheHandler(t *testing.T) {
	for _, code := range []string{"ReceiptHandleIsInvalid", "InvalidParameterValue", "MessageNotInflight"} {
		var ended atomic.Int64
		h := func(ctx context.Context, r batch.Record) error {
			if r.Attempt > 1 {
				return nil
			}
			<-ctx.Done()
			ended.Store(int64(time.Since(r.ReceivedAt)))
			if !errors.Is(ctx.Err(), context.Canceled) {
				t.Errorf("the record's context ended with %v, want Canceled", ctx.Err())
			}
			return ctx.Err()
		}
		inWorld(t, standardQueue, h, nil, func(w *world) {
			w.inject(sqs.Fault{Kind: sqs.EntryFailure, Operation: extension, Code: code, Times: 1})
			w.Send("a")
			w.start()
			w.after(25 * time.Second)
			if d := time.Duration(ended.Load()).Seconds(); math.Abs(d-20) > 1.5 {
				t.Errorf("%s: the record's context ended after %v s, want 20 s", code, d)
			}
			if n := w.p.Status().Counts.Lost; n != 1 {
				t.Errorf("%s: Lost is %d, want 1", code, n)
			}
			if got := w.warningsWith("SQS did not extend the record's visibility"); len(got) != 1 {
				t.Errorf("%s: warned of %q", code, w.warnings)
			}
			w.after(time.Minute)
			w.wantHandled("a", "a")
			if got := w.returned("a"); w.deleted() != 1 || len(got) != 1 || got[0] < 60 {
				t.Errorf("%s: deleted %d, came back at %v s; want 1, and nothing set for what is another's", code, w.deleted(), got)
			}
			if len(w.warnings) != 1 {
				t.Errorf("%s: warned of %q", code, w.warnings)
			}
		})
	}
}

// What a lost record's handler returns later does not affect the consumer that has it now.
func TestLateResultAfterLeaseRevoked_ChangesNothing(t *testing.T) {
	for name, late := range map[string]error{"success": nil, "failure": errors.New("late")} {
		h := func(_ context.Context, _ batch.Record) error { time.Sleep(40 * time.Second); return late }
		inWorld(t, standardQueue, h, func(c *longpoll.Config) { c.Engine.Grace = time.Minute }, func(w *world) {
			w.Send("a")
			w.start()
			w.after(time.Second)
			// Another consumer has it: it took it when its visibility had ended.
			record := w.Events(sqs.Received)[0]
			w.p.Pause()
			w.after(time.Second)
			w.changeVisibility(record.ReceiptHandle, 0)
			list := w.Receive(1)
			if len(list) != 1 {
				t.Fatal("the other consumer got nothing: the test tests nothing")
			}
			w.after(2 * time.Minute)
			if n := w.deleted(); n != 0 {
				t.Errorf("%s: the record was deleted under the other consumer", name)
			}
			if e := w.Events(sqs.Returned); len(e) != 1 {
				t.Errorf("%s: the record was made visible under the other consumer: %v", name, e[1:])
			}
			if _, err := w.Client.DeleteMessage(context.Background(), &awssqs.DeleteMessageInput{QueueUrl: &w.URL, ReceiptHandle: &list[0].ReceiptHandle}); err != nil || w.deleted() != 1 {
				t.Errorf("%s: the other consumer cannot delete it: %v", name, err)
			}
		})
	}
}

// An extension that meets a deleted message is no noise.
func TestExtensionOfDeletedMessage_IsNotWarnedOf(t *testing.T) {
	inWorld(t, standardQueue, lasting(21500*time.Millisecond), nil, func(w *world) {
		// The extension of about 20 s is carried out when the record is deleted.
		w.inject(sqs.Fault{Kind: sqs.Latency, Operation: extension, Latency: 2 * time.Second})
		w.Send("a")
		w.start()
		w.after(30 * time.Second)
		if calls := w.Server().Calls(extension); len(calls) != 1 || calls[0].Failed != 1 {
			t.Fatalf("extensions %+v: the test tests nothing", calls)
		}
		if w.deleted() != 1 || len(w.warnings) != 0 || w.p.Status().Counts.Lost != 0 {
			t.Errorf("deleted %d, warned of %q, lost %d; want 1, nothing and 0", w.deleted(), w.warnings, w.p.Status().Counts.Lost)
		}
	})
}

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
		w.wantDeleted(1)
	})
}

func TestLateExtension_DoesNotUndoARelease(t *testing.T) {
	h := sleepingFor("slow", 5*time.Minute)
	inWorld(t, standardQueue, h, func(c *longpoll.Config) { c.Engine.Concurrency = 1 }, func(w *world) {
		w.inject(latency(5 * time.Millisecond))
		w.Send(numbered(30, "quick")...)
		w.Send("slow", "a", "b", "c")
		w.start()
		w.after(5 * time.Second)
		w.needsWaiting()
		w.Server().ClearFaults()
		w.inject(sqs.Fault{Kind: sqs.Latency, Operation: extension, Latency: 2 * time.Second, Times: 1})
		for w.count(extension) == 0 {
			w.after(100 * time.Millisecond)
		}
		w.p.Pause()
		w.after(5 * time.Second)
		w.wantVisible(3)
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
			w.wantWarned(1, "visibility fails")
			w.Server().ClearFaults()
			w.after(3 * time.Minute)
			w.wantKept(1)
			w.wantWarned(1, "visibility works again")
			if len(w.warnings) != 2 {
				t.Errorf("%s: warned of %q", kind, w.warnings)
			}
		})
	}
}

// An extension whose answer is lost, or that fails for a passing reason, is made again.
func TestExtensionsFailInPart_LeaseIsKept(t *testing.T) {
	for _, fault := range []sqs.Fault{{Kind: sqs.LostAnswer, Times: 5}, {Kind: sqs.EntryFailure, Probability: 0.3}} {
		inWorld(t, standardQueue, lasting(3*time.Minute), nil, func(w *world) {
			fault.Operation = extension
			w.inject(fault)
			w.Send(numbered(10, "")...)
			w.start()
			w.after(4 * time.Minute)
			if n := len(w.Events(sqs.Returned)); n != 0 || w.deleted() != 10 || w.p.Status().Counts.Lost != 0 {
				t.Errorf("%s: %d came back, %d deleted, %d lost; want 0, 10 and 0", fault.Kind, n, w.deleted(), w.p.Status().Counts.Lost)
			}
		})
	}
}

// Without permission to extend, a record is handled as long as its visibility
// lasts, and the log says what is missing.
func TestExtensionDenied_RecordFinishesWithinVisibility(t *testing.T) {
	inWorld(t, standardQueue, lasting(30*time.Second), nil, func(w *world) {
		w.inject(sqs.Fault{Kind: sqs.Failure, Operation: extension, Code: "AccessDenied"})
		w.Send("a")
		w.start()
		w.after(40 * time.Second)
		w.wantDeleted(1)
		w.wantWarned(1, "sqs:ChangeMessageVisibility")
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

// While extending fails, those that SQS would show first are tried, and extended first.
func TestExtendingWorksAgain_TheMostUrgentFirst(t *testing.T) {
	inWorld(t, standardQueue, lasting(5*time.Minute), func(c *longpoll.Config) { c.Engine.Concurrency = 20 }, func(w *world) {
		w.Send(numbered(10, " first")...)
		w.start()
		w.after(2 * time.Second)
		w.Send(numbered(10, " second")...)
		w.inject(sqs.Fault{Kind: sqs.Refused, Operation: extension})
		w.after(30 * time.Second) // all are due
		w.Server().ClearFaults()
		w.after(20 * time.Second)
		events := w.Events(sqs.Visibility)
		if len(events) < 20 {
			t.Fatalf("%d extensions, want 20", len(events))
		}
		for _, e := range events[:10] {
			if !strings.HasSuffix(e.Body, " first") {
				t.Errorf("%q was extended before others", e.Body)
			}
		}
	})
}
