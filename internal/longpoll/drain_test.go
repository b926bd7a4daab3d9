package longpoll_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
	"github.com/sqsbatch/sqsbatch/internal/sleep"
)

// brief is how long a stop may take in addition to running handlers.
const brief = 300 * time.Millisecond

// working takes a second for each record.
func working(context.Context, batch.Record) error { time.Sleep(time.Second); return nil }

// slowing is quick with the first records, so that others are received ahead,
// and takes a second for the rest.
func slowing(_ context.Context, r batch.Record) error {
	if n, _ := strconv.Atoi(r.Body); n < 40 {
		time.Sleep(10 * time.Millisecond)
	} else {
		time.Sleep(time.Second)
	}
	return nil
}

// latency makes each call take a while.
func latency(d time.Duration) sqs.Fault { return sqs.Fault{Kind: sqs.Latency, Latency: d} }

// A stop does not wait out the long poll.
func TestStopWhenIdle_DoesNotWaitForTheReceive(t *testing.T) {
	for _, fifo := range []bool{false, true} {
		inWorld(t, fifo, ok, nil, func(w *world) {
			w.inject(latency(5 * time.Millisecond))
			w.start()
			w.after(7 * time.Second)
			w.stopWithin(brief)
		})
	}
}

// answersLate has receives carried out, and answered after d. Their clients may have left then.
func answersLate(w *world, d time.Duration) func(string, *http.Request) (*http.Response, error) {
	return func(operation string, r *http.Request) (*http.Response, error) {
		if operation != receiving {
			return nil, nil
		}
		answer, err := w.Server().HTTPClient().Transport.RoundTrip(r)
		if !sleep.For(r.Context(), d) {
			return nil, r.Context().Err()
		}
		return answer, err
	}
}

// After a full receive the next one may be about to return messages. A stop waits for it ten times as
// long as the full one took, within limits, and no message is hidden from others.
func TestStopAfterAFullReceive(t *testing.T) {
	for _, test := range []struct{ takes, least, most time.Duration }{
		{5 * time.Millisecond, 300 * time.Millisecond, 500 * time.Millisecond},
		{100 * time.Millisecond, 800 * time.Millisecond, time.Second},
		{400 * time.Millisecond, 1400 * time.Millisecond, 2 * time.Second},
	} {
		for _, more := range []int{0, 10} {
			inWorld(t, standardQueue, ok, nil, func(w *world) {
				w.Fault = answersLate(w, test.takes)
				w.Send(numbered(10+more, "")...)
				w.start()
				w.after(test.takes + 10*time.Millisecond) // the next receive is open
				took := w.stop()
				if n := w.visible() + w.deleted(); n != 10+more {
					t.Errorf("receives take %v: %d of %d messages are deleted or visible", test.takes, n, 10+more)
				}
				if more == 0 && (took < test.least || took > test.most) {
					t.Errorf("receives take %v: the stop took %v, want %v to %v", test.takes, took, test.least, test.most)
				}
			})
		}
	}
}

func TestDrain_FinishesRunningAndReleasesWaiting(t *testing.T) {
	inWorld(t, standardQueue, slowing, func(c *longpoll.Config) { c.Engine.Concurrency = 2 }, func(w *world) {
		w.inject(latency(5 * time.Millisecond))
		w.Send(numbered(60, "")...)
		w.start()
		w.after(600 * time.Millisecond)
		s := w.p.Status()
		if s.Running != 2 || s.Waiting == 0 {
			t.Fatalf("%d run and %d wait, want 2 and some: the test tests nothing", s.Running, s.Waiting)
		}
		began := len(w.bodies())
		took := w.stop()
		if took > time.Second+brief {
			t.Errorf("took %v, want the rest of a second and %v", took, brief)
		}
		if n := len(w.bodies()); n != began || w.deleted() != began {
			t.Errorf("handled %d, deleted %d, want %d: none is started and all are finished", n, w.deleted(), began)
		}
		if n := w.visible(); n != 60-began {
			t.Errorf("%d are visible, want %d", n, 60-began)
		}
		if n := w.p.Status().Counts.Released; n != s.Waiting {
			t.Errorf("Released is %d, want %d", n, s.Waiting)
		}
		if s := w.p.Status(); s.State != "stopped" || s.Running+s.Waiting+s.Undeleted != 0 {
			t.Errorf("status after the stop: %+v", s)
		}
	})
}

// What a receive brings during the stop is not kept.
func TestMessagesReceivedDuringStop_AreReleased(t *testing.T) {
	for _, slow := range []time.Duration{0, 50 * time.Millisecond, time.Second} {
		inWorld(t, standardQueue, ok, nil, func(w *world) {
			w.start()
			w.after(7 * time.Second)
			if slow > 0 {
				w.inject(sqs.Fault{Kind: sqs.Latency, Latency: slow, Operation: "ChangeMessageVisibilityBatch"})
			}
			time.AfterFunc(100*time.Millisecond, func() { w.Send("late", "later") })
			took := w.stop()
			w.after(time.Second)
			w.wantHandled()
			if n := len(w.Events(sqs.Received)); n == 0 {
				t.Fatal("nothing was received during the stop: the test tests nothing")
			}
			if n := w.visible(); n != 2 {
				t.Errorf("%d of 2 are visible after the stop (releasing takes %v, the stop took %v)", n, slow, took)
			}
		})
	}
}

// What was handled just before the stop is deleted.
func TestStopWithLingeringDeletes_SendsThem(t *testing.T) {
	h := sleepingFor("slow", 10*time.Second)
	inWorld(t, standardQueue, h, nil, func(w *world) {
		w.inject(latency(20 * time.Millisecond))
		w.Send("slow", "a", "b", "c")
		w.start()
		w.after(time.Second)
		w.Send("d") // lingers, since "slow" runs
		time.Sleep(25 * time.Millisecond)
		for w.p.Status().Undeleted == 0 {
			time.Sleep(time.Millisecond)
		}
		w.stop()
		w.wantDeleted(5)
		w.wantVisible(0)
	})
}

// A delete that was waiting for its next try is tried at the stop.
func TestStopWithFailedDeletes_RetriesThem(t *testing.T) {
	inWorld(t, standardQueue, ok, nil, func(w *world) {
		w.inject(sqs.Fault{Kind: sqs.EntryFailure, Operation: "DeleteMessageBatch"})
		w.Send("a")
		w.start()
		w.after(45 * time.Second) // tries are 16 s apart by now
		if w.deleted() != 0 {
			t.Fatal("it was deleted: the test tests nothing")
		}
		w.Server().ClearFaults()
		w.inject(sqs.Fault{Kind: sqs.Failure, Operation: "DeleteMessageBatch", Times: 3})
		took := w.stop()
		if w.deleted() != 1 || took > 3*time.Second {
			t.Errorf("deleted %d of 1, the stop took %v", w.deleted(), took)
		}
		w.wantWarned(0, "could not be deleted")
	})
}

func TestStopWithUndeletableRecord_NamesIt(t *testing.T) {
	inWorld(t, standardQueue, ok, nil, func(w *world) {
		w.inject(sqs.Fault{Kind: sqs.EntryFailure, Operation: "DeleteMessageBatch"})
		w.Send("a")
		w.start()
		w.after(time.Second)
		w.stopWithin(5 * time.Second)
		id := w.Events(sqs.Sent)[0].MessageID
		if got := w.warningsWith("1 records were handled but could not be deleted (one is " + id); len(got) != 1 {
			t.Errorf("the stop does not name %s: %q", id, w.warnings)
		}
	})
}

// The end of Run's context ends neither what runs nor its calls.
func TestRunContextEnds_DrainsLikeAStop(t *testing.T) {
	type key struct{}
	var inside, value any
	h := func(ctx context.Context, r batch.Record) error {
		value = ctx.Value(key{})
		time.Sleep(3 * time.Second)
		inside = ctx.Err()
		return nil
	}
	inWorld(t, standardQueue, h, nil, func(w *world) {
		w.inject(latency(20 * time.Millisecond))
		ctx, cancel := context.WithCancel(context.WithValue(context.Background(), key{}, "value"))
		go func() { w.err <- w.p.Run(ctx) }()
		w.Send("a")
		w.after(2 * time.Second)
		cancel()
		began := time.Now()
		if err := <-w.err; err != nil {
			t.Errorf("Run: %v", err)
		}
		if took := time.Since(began); took > 2*time.Second+brief {
			t.Errorf("the stop took %v", took)
		}
		if inside != nil || value != "value" || w.deleted() != 1 {
			t.Errorf("in the handler ctx.Err() was %v and its value %v, %d deleted; want nil, \"value\" and 1", inside, value, w.deleted())
		}
	})
}

// A second stop, one before the start, several at a time.
func TestShutdownRepeated_IsIdempotent(t *testing.T) {
	inWorld(t, standardQueue, working, nil, func(w *world) {
		w.Send("a")
		w.start()
		w.after(500 * time.Millisecond)
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				if err := w.p.Shutdown(context.Background()); err != nil {
					t.Errorf("Shutdown: %v", err)
				}
				if w.p.Status().State != "stopped" {
					t.Errorf("Shutdown returned while the poller is %s", w.p.Status().State)
				}
			})
		}
		all.Wait()
		w.stop()
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		if err := w.p.Shutdown(ended); err != nil {
			t.Errorf("Shutdown after the stop, by a context that has ended: %v", err)
		}
		if err := w.p.Run(context.Background()); err != longpoll.ErrRunTwice {
			t.Errorf("Run after the stop: %v, want ErrRunTwice", err)
		}
	})
}

func TestShutdownBeforeRun_RunReceivesNothing(t *testing.T) {
	inWorld(t, standardQueue, ok, nil, func(w *world) {
		w.Send("a")
		w.ForgetCalls()
		for range 2 {
			if err := w.p.Shutdown(context.Background()); err != nil {
				t.Errorf("Shutdown: %v", err)
			}
		}
		if err := w.p.Run(context.Background()); err != nil {
			t.Errorf("Run: %v", err)
		}
		if calls := w.Calls(); len(calls) != 0 {
			t.Errorf("Run called %v", calls)
		}
	})
	inWorld(t, standardQueue, ok, nil, func(w *world) {
		w.Send("a")
		w.ForgetCalls()
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		if err := w.p.Run(ended); err != nil {
			t.Errorf("Run by a context that has ended: %v", err)
		}
		if calls := w.Calls(); len(calls) != 0 {
			t.Errorf("Run by a context that has ended called %v", calls)
		}
		w.wantState("stopped")
	})
}

func TestShutdownWhileStarting_IsFast(t *testing.T) {
	inWorld(t, standardQueue, ok, nil, func(w *world) {
		w.inject(sqs.Fault{Kind: sqs.Refused})
		w.start()
		w.after(time.Minute)
		w.wantState("failing")
		w.stopWithin(brief)
	})
	inWorld(t, standardQueue, ok, nil, func(w *world) {
		w.inject(sqs.Fault{Kind: sqs.Hang})
		w.start()
		w.after(time.Second)
		w.stopWithin(brief)
	})
}

// The first receive may be about to return messages when a stop begins.
func TestStopDuringTheFirstReceive_HidesNothing(t *testing.T) {
	inWorld(t, standardQueue, ok, nil, func(w *world) {
		w.Fault = answersLate(w, 800*time.Millisecond)
		w.Send(numbered(10, "")...)
		w.start()
		w.after(100 * time.Millisecond)
		w.stopWithin(2 * time.Second)
		if n := w.visible(); n != 10 {
			t.Errorf("%d of 10 messages are visible after the stop", n)
		}
		if c := w.p.Status().Counts; c.Receives != 1 || c.Received != 10 {
			t.Errorf("%d receives of %d messages are counted, want 1 of 10", c.Receives, c.Received)
		}
	})
}

// A stop does not wait for calls that SQS does not answer: they end a second before its time is over.
func TestStopWithoutAnswers_EndsItsCalls(t *testing.T) {
	inWorld(t, standardQueue, ok, nil, func(w *world) {
		w.inject(sqs.Fault{Kind: sqs.Hang, Operation: "DeleteMessageBatch"})
		w.Send("a")
		w.start()
		w.after(time.Second)
		w.stopWithin(3*time.Second + brief)
	})
}

// A handler that is given up in the last step of a stop counts as well.
func TestStopThatAbandonsTooMany_IsAnError(t *testing.T) {
	hang := func(context.Context, batch.Record) error { time.Sleep(time.Hour); return nil }
	inWorld(t, standardQueue, hang, func(c *longpoll.Config) { c.MaxAbandoned, c.DrainLimit = 1, time.Second }, func(w *world) {
		w.Send("a", "b")
		w.start()
		w.after(time.Second)
		_ = w.p.Shutdown(context.Background())
		if err := <-w.err; !errors.Is(err, longpoll.ErrAbandoned) {
			t.Errorf("Run: %v", err)
		}
	})
}
