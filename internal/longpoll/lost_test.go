package longpoll_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
	"github.com/sqsbatch/sqsbatch/test/testqueue"
)

// What waited for a slot until its visibility was over is not started: another
// consumer may have it.
func TestLeaseExpiredWhileWaiting_RecordIsNotStarted(t *testing.T) {
	h := sleepingFor("slow", 2*time.Minute)
	inWorld(t, standardQueue, h, func(c *longpoll.Config) { c.Engine.Concurrency, c.Visibility = 1, 9*time.Second }, func(w *world) {
		w.inject(latency(5*time.Millisecond), sqs.Fault{Kind: sqs.Failure, Operation: extension, Times: 200})
		w.Send(numbered(30, "quick")...)
		w.Send("slow", "a", "b")
		w.start()
		w.after(5 * time.Second)
		if n := w.p.Status().Waiting; n != 2 {
			t.Fatalf("%d wait, want 2: the test tests nothing", n)
		}
		w.after(70 * time.Second)
		other := w.Receive(10) // another consumer gets them, and handles them
		w.Server().ClearFaults()
		if len(other) == 0 {
			t.Fatal("nothing came back: the test tests nothing")
		}
		w.after(2 * time.Minute)
		for _, body := range w.bodies() {
			if body == "a" || body == "b" {
				t.Errorf("%s was handled here, which another consumer has", body)
			}
		}
		if n := w.p.Status().Counts.Lost; n != 3 {
			t.Errorf("Lost is %d, want 3: both, and the one that ran", n)
		}
		w.after(5 * time.Minute) // the other consumer died
		w.wantDeleted(33)
	})
}

// On a standard queue SQS accepts a change of visibility that comes too late, which has
// no effect: the record is visible, whatever the answer.
func TestExtensionAcceptedTooLate_CancelsTheHandler(t *testing.T) {
	canceled := false
	h := func(ctx context.Context, _ batch.Record) error {
		<-ctx.Done()
		canceled = true
		return ctx.Err()
	}
	inWorld(t, standardQueue, h, func(c *longpoll.Config) { c.Visibility = 9 * time.Second }, func(w *world) {
		w.Send("a")
		w.start()
		w.after(time.Second)
		w.p.Pause() // it must not get it again itself
		w.inject(sqs.Fault{Kind: sqs.Failure, Operation: extension})
		w.after(20 * time.Second)
		if canceled || len(w.Events(sqs.Returned)) != 1 {
			t.Fatal("it did not come back while it was handled: the test tests nothing")
		}
		w.Server().ClearFaults()
		w.after(5 * time.Second)
		if n := w.p.Status().Counts.Lost; !canceled || n != 1 {
			t.Errorf("canceled: %v, Lost is %d: want that the record is given up, since others may have it", canceled, n)
		}
	})
}

// The same for the records of a group behind one that takes long.
func TestLeaseExpiredBehindItsGroup_RecordIsNotStarted(t *testing.T) {
	h := func(_ context.Context, r batch.Record) error {
		if r.Body == "g:1" && r.Attempt == 1 {
			time.Sleep(100 * time.Second)
		}
		return nil
	}
	inWorld(t, fifoQueue, h, nil, func(w *world) {
		w.noRedrive()
		w.Send("g:1", "g:2", "g:3")
		w.start()
		w.after(time.Second)
		w.inject(sqs.Fault{Kind: sqs.Failure, Operation: extension})
		w.inject(sqs.Fault{Kind: sqs.Failure, Operation: "ReceiveMessage"}) // it must not get them again itself
		w.after(2 * time.Minute)
		w.wantHandled("g:1")
		if n := len(w.Events(sqs.Returned)); n != 3 {
			t.Errorf("%d came back, want 3: the test tests nothing", n)
		}
		slices.SortFunc(w.results, func(a, b batch.Result) int { return cmp.Compare(a.Record.Body, b.Record.Body) })
		if len(w.results) != 3 || w.results[0].Outcome != batch.Succeeded || !errors.Is(w.results[1].Err, longpoll.ErrLost) || !errors.Is(w.results[2].Err, batch.ErrSkipped) {
			t.Errorf("results %+v, want the second lost and the third skipped", w.results)
		}
		if r := w.results[1]; !r.Started.IsZero() || r.Duration != 0 || r.Allowed != 0 {
			t.Errorf("the second was called at %v, for %v of %v; want that it was not", r.Started, r.Duration, r.Allowed)
		}
		if n := w.p.Status().Counts.Lost; n != 1 {
			t.Errorf("Lost is %d, want 1", n)
		}
		w.Server().ClearFaults()
		w.p.Resume()
		w.after(2 * time.Minute)
		w.wantHandled("g:1", "g:2", "g:3")
		w.wantDeleted(3)
	})
}

// What was behind a record that was lost while it ran says that, and not that the
// process was asked to end, which is no trouble.
func TestLeaseRevokedInGroup_RestIsNotReportedAsStopped(t *testing.T) {
	h := func(ctx context.Context, r batch.Record) error {
		if r.Attempt == 1 {
			<-ctx.Done() // and succeeds nevertheless
		}
		return nil
	}
	inWorld(t, fifoQueue, h, nil, func(w *world) {
		w.inject(sqs.Fault{Kind: sqs.EntryFailure, Operation: extension, Code: "ReceiptHandleIsInvalid", Times: 3})
		w.Send("g:1", "g:2", "g:3")
		w.start()
		w.after(25 * time.Second)
		w.wantHandled("g:1", "g:2", "g:3")
		w.wantOutcomes(batch.Succeeded, batch.NotStarted, batch.NotStarted, batch.Succeeded, batch.Succeeded)
		for _, r := range w.results {
			if r.Outcome == batch.NotStarted && (!errors.Is(r.Err, batch.ErrNotStarted) || errors.Is(r.Err, batch.ErrStopped)) {
				t.Errorf("%s: %v", r.Record.Body, r.Err)
			}
		}
		w.after(10 * time.Minute)
		w.wantDeleted(3)
	})
}

// A group of which more was received behind what runs is released by a stop.
func TestStopOrPause_ReleasesWhatWaitsBehindItsGroup(t *testing.T) {
	for _, pause := range []bool{false, true} {
		h := func(context.Context, batch.Record) error { time.Sleep(50 * time.Second); return nil }
		inWorld(t, fifoQueue, h, func(c *longpoll.Config) { c.Visibility, c.DrainLimit = 30*time.Second, time.Minute }, func(w *world) {
			w.inject(sqs.Fault{Kind: sqs.Failure, Operation: extension})
			w.Send("g:1")
			w.start()
			w.after(10 * time.Second)
			w.Send("g:2", "g:3")
			w.after(35 * time.Second)
			if n := w.p.Status().Waiting; n != 2 {
				t.Fatalf("%d wait, want 2 behind what runs: the test tests nothing", n)
			}
			w.Server().ClearFaults()
			if pause {
				w.p.Pause()
				w.after(20 * time.Second)
			} else {
				w.stop()
			}
			w.wantHandled("g:1")
			if n := w.visible(); n != 2 || w.deleted() != 1 {
				t.Errorf("%d visible and %d deleted, want 2 and 1", n, w.deleted())
			}
		})
	}
}

// Where SQS does not tell the queue's ARN, its partition follows from the region.
func TestPartitions(t *testing.T) {
	for region, want := range map[string]string{"cn-north-1": "aws-cn", "us-gov-west-1": "aws-us-gov", "eu-west-1": "aws"} {
		var arn, of string
		inWorld(t, standardQueue, func(_ context.Context, r batch.Record) error { arn, of = r.QueueARN, r.Region; return nil }, func(c *longpoll.Config) {
			o := c.SQS.Options()
			o.Region = region
			c.SQS = awssqs.New(o)
		}, func(w *world) {
			w.Fault = answer("GetQueueAttributes", 403, "AccessDenied", "")
			w.Send("a")
			w.start()
			w.after(time.Second)
			if want := "arn:" + want + ":sqs:" + region + ":123456789012:orders"; arn != want || of != region {
				t.Errorf("a record of %q in %q, want %q", arn, of, want)
			}
		})
	}
}

// A delete that worked although its answer was lost is no lost record: its extension is
// refused because the record is gone.
func TestDeleteWorkedUnanswered_RecordIsNotLost(t *testing.T) {
	inWorld(t, standardQueue, ok, func(c *longpoll.Config) { c.Visibility = 9 * time.Second }, func(w *world) {
		w.inject(sqs.Fault{Kind: sqs.LostAnswer, Operation: deletion})
		w.Send("a")
		w.start()
		w.after(5 * time.Second)
		if w.deleted() != 1 || w.count(extension) == 0 {
			t.Fatalf("%d deleted, %d extensions: the test tests nothing", w.deleted(), w.count(extension))
		}
		w.Server().ClearFaults()
		w.after(10 * time.Second)
		if s := w.p.Status(); s.Counts.Lost != 0 || s.Counts.Succeeded != 1 || s.Undeleted != 0 {
			t.Errorf("status %+v, want one success and nothing lost", s)
		}
	})
}

// A record that SQS took back while its queue is asked whether it is to be dead-lettered in
// place is not sent: another consumer may succeed with it.
func TestLostWhileDeciding_RecordIsNotDeadLettered(t *testing.T) {
	fail := make(chan struct{})
	h := func(_ context.Context, r batch.Record) error {
		if r.Body == "g:a" {
			<-fail
			return errors.New("no")
		}
		return nil
	}
	inWorld(t, fifoQueue, h, func(c *longpoll.Config) { c.Visibility = 3 * time.Second }, func(w *world) {
		fail = make(chan struct{})
		w.deliverOften("g:a", testqueue.MaxReceiveCount)
		w.Send("g:b")
		w.start()
		w.after(6 * time.Minute) // what the queue said about itself is no longer believed
		w.inject(sqs.Fault{Kind: sqs.Latency, Operation: "GetQueueAttributes", Latency: 900 * time.Millisecond})
		for before := w.count(extension); w.count(extension) == before; {
			w.after(10 * time.Millisecond)
		}
		w.after(500 * time.Millisecond)
		w.inject(sqs.Fault{Kind: sqs.EntryFailure, Operation: extension, Code: "MessageNotInflight"})
		close(fail)
		w.after(1500 * time.Millisecond)
		if n := w.p.Status().Counts.Lost; n == 0 {
			t.Fatal("no extension was refused: the test tests nothing")
		}
		w.Server().ClearFaults()
		if n := w.count("SendMessageBatch"); n != 0 {
			t.Errorf("the lost record was sent to the dead-letter queue")
		}
	})
}
