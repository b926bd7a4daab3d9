package settle_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/batch"
	emulator "github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/hooks"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/internal/settle"
	"github.com/sqsbatch/sqsbatch/test/testqueue"
)

// owner is a goroutine with a poller's settler.
type owner struct {
	*settle.Settler
	mu     sync.Mutex // the owner's lock
	events chan func()
	end    context.CancelFunc
	ended  sync.WaitGroup
	// deleted are the errors of the deletes that SQS has answered.
	deleted []error
}

func newOwner(t *testing.T, q *testqueue.Queue, cfg settle.Config) *owner {
	t.Helper()
	cfg.Client = func(context.Context) (*sqs.Client, error) { return q.Client, nil }
	policy := settle.New(cfg)
	ctx, end := context.WithCancel(t.Context())
	o := &owner{events: make(chan func()), end: end}
	o.Settler = policy.NewSettler(ctx, settle.Callbacks{
		Do: func(f func()) {
			select {
			case o.events <- f:
			case <-ctx.Done():
			}
		},
		Called: func(batch.Call) {}, Warn: func(batch.Warning) {}, Deleted: func(_ []*runner.Delivery, errs []error) { o.deleted = append(o.deleted, errs...) },
		Settled: func(*runner.Delivery) {},
	})
	o.ended.Go(func() {
		for {
			select {
			case f := <-o.events:
				o.mu.Lock()
				f()
				o.Flush(false)
				o.mu.Unlock()
			case <-ctx.Done():
				return
			}
		}
	})
	return o
}

// inOwner calls f with a queue and its owner, in virtual time.
func inOwner(t *testing.T, fifo bool, f func(t *testing.T, q *testqueue.Queue, o *owner)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		q := testqueue.New(t, fifo)
		o := newOwner(t, q, settle.Config{})
		defer o.stop()
		f(t, q, o)
	})
}

// do has the owner call f.
func (o *owner) do(f func()) { o.events <- f }

func (o *owner) stop() {
	o.end()
	o.ended.Wait()
	synctest.Wait()
}

// failure is a delivery that failed, and that SQS shows at the latest then.
func failure(r *batch.Record, v batch.Verdict, shownBy time.Time) *runner.Delivery {
	return &runner.Delivery{Record: r, Latest: r, State: runner.Finished, ShownBy: shownBy,
		Result: &batch.Result{Record: r, Outcome: batch.Retry, Started: time.Now()}, Verdict: runner.Verdict{Verdict: v}}
}

// A delete that failed is tried again soon, however many new ones are always there.
func TestManyFreshEntries_RetriesGetTheirTurn(t *testing.T) {
	inOwner(t, standardQueue, func(t *testing.T, q *testqueue.Queue, o *owner) {
		q.Send("once", "twice")
		records := q.Receive(2)
		if err := q.Server().Inject(
			emulator.Fault{Kind: emulator.EntryFailure, Operation: opDelete, Times: 1},
			emulator.Fault{Kind: emulator.Latency, Operation: opDelete, Latency: time.Second},
		); err != nil {
			t.Fatal(err)
		}
		o.do(func() { o.Delete(failure(&records[0], batch.Verdict{}, time.Time{})) })
		time.Sleep(150 * time.Millisecond) // it has failed
		for range 50 {                     // more than calls can take
			o.do(func() {
				for range 50 {
					o.Delete(failure(&records[1], batch.Verdict{}, time.Time{}))
				}
			})
			time.Sleep(100 * time.Millisecond)
		}
		for _, e := range q.Events(emulator.Deleted) {
			if e.Body == "once" {
				return
			}
		}
		t.Error("in 5 s the delete that had failed was not tried again")
	})
}

// A record whose send is under way when its owner gives its group up is not sent again once
// others may have it.
func TestGivenUpWhileSent_IsNotSentLater(t *testing.T) {
	inOwner(t, fifoQueue, func(t *testing.T, q *testqueue.Queue, o *owner) {
		var late time.Time
		q.Fault = func(operation string, r *http.Request) (*http.Response, error) {
			if operation != opSend {
				return nil, nil
			}
			if !late.IsZero() && time.Now().After(late) {
				t.Error("the record was sent although others may have it")
			}
			return testqueue.Answer(r, 503, "ServiceUnavailable", "")
		}
		q.SendTo("a", "a:never")
		record := q.Receive(1)[0]
		d := failure(&record, batch.Verdict{Permanent: true}, time.Time{})
		d.State = runner.Deciding
		o.do(func() { o.DeadLetter(d) })
		time.Sleep(6 * time.Second) // the pauses between its tries are long by now
		synctest.Wait()
		o.do(func() {
			late = time.Now().Add(100 * time.Millisecond)
			d.State, d.ShownBy = runner.Finished, late
			o.Fail(d)
		})
		time.Sleep(time.Minute)
	})
}

// A group waits for what its queue says about itself only where its head may be at its last
// attempt: never after the first one, if the queue has ever said otherwise.
func TestQueueHasNotSaidLately_FirstAttemptDoesNotWait(t *testing.T) {
	for attempt, want := range map[int]time.Duration{1: 0, 2: time.Second} {
		inOwner(t, fifoQueue, func(t *testing.T, q *testqueue.Queue, o *owner) {
			o.Know(q.ARN, q.URL, map[string]string{"RedrivePolicy": `{"maxReceiveCount":5,"deadLetterTargetArn":"` + q.DeadLetterARN + `"}`})
			time.Sleep(time.Hour)
			if err := q.Server().Inject(emulator.Fault{Kind: emulator.Hang, Operation: "GetQueueAttributes"}); err != nil {
				t.Fatal(err)
			}
			failed := make(chan time.Time, 1)
			engine := runner.New(batch.HandlerFunc(func(context.Context, batch.Record) error { return errors.New("no") }), runner.Config{}, &hooks.Set{})
			r := engine.NewRunner(t.Context(), runner.Options{Lock: &o.mu, Decide: o.DeadLetter, Finished: func(*runner.Delivery) { failed <- time.Now() }})
			began := time.Now()
			o.do(func() {
				for _, id := range []string{"m", "behind it"} {
					record := &batch.Record{MessageID: id, QueueARN: q.ARN, GroupID: "a", Attempt: attempt}
					r.Add(&runner.Delivery{Record: record, Latest: record, Result: new(batch.Result)})
				}
			})
			if took := (<-failed).Sub(began); took != want {
				t.Errorf("after attempt %d the group waited for %v, want %v", attempt, took, want)
			}
		})
	}
}

// silent answers everything but questions about attributes, and counts sends.
func silent(q *testqueue.Queue, sends *atomic.Int32) {
	q.Fault = func(operation string, r *http.Request) (*http.Response, error) {
		switch operation {
		case opSend:
			sends.Add(1)
		case "GetQueueAttributes":
			<-r.Context().Done()
			return nil, r.Context().Err()
		}
		return nil, nil
	}
}

// What SQS said of a queue is old, and it does not answer now: a record is not sent once SQS has
// shown it to others.
func TestQueueDoesNotAnswer_RecordIsNotSentOnceItIsShown(t *testing.T) {
	for name, fail := range map[string]func(*owner, *runner.Delivery){
		"a failure": func(o *owner, d *runner.Delivery) {
			d.ShownBy = time.Now().Add(500 * time.Millisecond)
			o.Fail(d)
		},
		"while its group waits": func(o *owner, d *runner.Delivery) {
			d.State = runner.Deciding
			o.DeadLetter(d)
			time.AfterFunc(100*time.Millisecond, func() {
				o.do(func() {
					d.State, d.ShownBy = runner.Finished, time.Now().Add(100*time.Millisecond)
					o.Fail(d)
				})
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			inOwner(t, fifoQueue, func(t *testing.T, q *testqueue.Queue, o *owner) {
				o.Know(q.ARN, q.URL, map[string]string{"RedrivePolicy": `{"maxReceiveCount":5,"deadLetterTargetArn":"` + q.DeadLetterARN + `"}`})
				time.Sleep(time.Hour)
				var sends atomic.Int32
				silent(q, &sends)
				q.SendTo("a", "a:never")
				record := q.Receive(1)[0]
				o.do(func() { fail(o, failure(&record, batch.Verdict{Permanent: true}, time.Time{})) })
				time.Sleep(time.Minute)
				if n := sends.Load(); n > 0 {
					t.Errorf("%d sends", n)
				}
			})
		})
	}
}

// Sends that get no answer are given up when SQS shows the records. No call is made for them then.
func TestSendsGivenUp_NoVisibilityIsSetOnceTheyAreShown(t *testing.T) {
	inOwner(t, standardQueue, func(t *testing.T, q *testqueue.Queue, o *owner) {
		for range 31 {
			q.Send("never")
		}
		records := q.Receive(31)
		until := time.Now().Add(9 * time.Second)
		var late atomic.Int32
		q.Fault = func(operation string, r *http.Request) (*http.Response, error) {
			if operation == opVisibility && !time.Now().Before(until) {
				late.Add(1)
			}
			if operation == opSend {
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
			return nil, nil
		}
		o.do(func() { o.Fail(failure(&records[0], batch.Verdict{}, time.Now().Add(time.Minute))) }) // the lane of visibilities is the first
		time.Sleep(time.Second)
		fail := func(list []batch.Record) {
			o.do(func() {
				for k := range list {
					o.Fail(failure(&list[k], batch.Verdict{Permanent: true}, until))
				}
			})
		}
		fail(records[1:11])
		time.Sleep(4 * time.Second)
		fail(records[11:])
		time.Sleep(20 * time.Second)
		if n := late.Load(); n > 0 {
			t.Errorf("%d calls after SQS has shown the records", n)
		}
	})
}

// When the owner hurries, tries follow each other closely, and a release is not postponed.
func TestHurry_ShortPausesAndNothingPostponed(t *testing.T) {
	inOwner(t, standardQueue, func(t *testing.T, q *testqueue.Queue, o *owner) {
		q.Send("deleted", "released")
		records := q.Receive(2)
		if err := q.Server().Inject(emulator.Fault{Kind: emulator.Refused, Operation: opDelete}); err != nil {
			t.Fatal(err)
		}
		o.do(func() {
			o.Postpone(time.Now().Add(time.Hour))
			o.Hurry()
			o.Delete(failure(&records[0], batch.Verdict{}, time.Time{}))
			o.Release(failure(&records[1], batch.Verdict{}, time.Time{}))
		})
		time.Sleep(10 * time.Second)
		if !slices.ContainsFunc(q.Events(emulator.Returned), func(e emulator.Event) bool { return e.Body == "released" }) {
			t.Error("the release was postponed")
		}
		tries := 0
		for _, c := range q.Server().Calls() {
			if c.Operation == opDelete {
				tries++
			}
		}
		if tries < 15 {
			t.Errorf("%d tries in 10 s, want one in half a second at least", tries)
		}
		q.Server().ClearFaults()
		time.Sleep(time.Second)
	})
}

// Calls that SQS does not answer do not count as tries: when it answers again, a failure has all of them.
func TestTries_CallsWithoutAnAnswerDoNotCount(t *testing.T) {
	inOwner(t, standardQueue, func(t *testing.T, q *testqueue.Queue, o *owner) {
		q.Send("fails")
		record := q.Receive(1)[0]
		if err := q.Server().Inject(
			emulator.Fault{Kind: emulator.Refused, Operation: opVisibility, Times: 5},
			emulator.Fault{Kind: emulator.EntryFailure, Operation: opVisibility, Times: 2, Code: "RequestThrottled"},
		); err != nil {
			t.Fatal(err)
		}
		o.do(func() {
			o.Fail(failure(&record, batch.Verdict{}, time.Now().Add(time.Hour)))
		})
		time.Sleep(time.Minute)
		if set := q.Events(emulator.Visibility); len(set) != 1 {
			t.Errorf("its visibility was set %d times, want once", len(set))
		}
	})
}

// A record is delivered again before SQS answers its delete, and refuses the handle, which is an old
// one now: it is deleted with the new one, and no delete has failed.
func TestDelete_OldHandleRefusedIsNoFailure(t *testing.T) {
	inOwner(t, standardQueue, func(t *testing.T, q *testqueue.Queue, o *owner) {
		q.Send("a")
		first := q.Receive(1)[0]
		time.Sleep(time.Hour)
		again := q.Receive(1)[0]
		if err := q.Server().Inject(
			emulator.Fault{Kind: emulator.Latency, Operation: opDelete, Latency: time.Second},
			emulator.Fault{Kind: emulator.EntryFailure, Operation: opDelete, Times: 1, Code: "ReceiptHandleIsInvalid"},
		); err != nil {
			t.Fatal(err)
		}
		d := failure(&first, batch.Verdict{}, time.Time{})
		o.do(func() { o.Delete(d) })
		time.Sleep(500 * time.Millisecond)
		o.do(func() { d.Latest = &again })
		time.Sleep(10 * time.Second)
		o.do(func() {
			if !slices.Equal(o.deleted, []error{nil, nil}) || len(q.Events(emulator.Deleted)) != 1 {
				t.Errorf("deletes ended with %v", o.deleted)
			}
		})
	})
}
