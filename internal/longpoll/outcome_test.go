package longpoll_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
	"github.com/sqsbatch/sqsbatch/partialfailure"
	"github.com/sqsbatch/sqsbatch/test/testqueue"
)

// oncePer fails the first attempt of each record by f.
func oncePer(f func(r batch.Record) error) handle {
	return func(_ context.Context, r batch.Record) error {
		if r.Attempt == 1 {
			return f(r)
		}
		return nil
	}
}

func TestFailedRecord_ComesBackWhenItsErrorSays(t *testing.T) {
	boom := errors.New("boom")
	tests := []struct {
		name string
		err  error
		want float64 // seconds after the failure
	}{
		{"backoff", boom, 7},
		{"retry after", batch.RetryAfter(30*time.Second, boom), 30},
		{"retry at once", batch.RetryAfter(0, boom), 0},
		{"retry far beyond what SQS takes", batch.RetryAfter(100*time.Hour, boom), 12*3600 - 5},
		{"retry in part of a second", batch.RetryAfter(1500*time.Millisecond, boom), 2},
		{"permanent without its queue", batch.Permanent(boom), 7},
		{"wrapped", errors.Join(errors.New("more"), batch.RetryAfter(30*time.Second, boom)), 30},
	}
	for _, test := range tests {
		inWorld(t, standardQueue, oncePer(func(batch.Record) error { return test.err }), func(c *longpoll.Config) {
			c.Failures.Backoff = func(int) time.Duration { return 7 * time.Second }
			if strings.Contains(test.name, "permanent") {
				c.Failures.OnPermanent = partialfailure.Retry
			}
		}, func(w *world) {
			w.inject(latency(5 * time.Millisecond)) // so that the hooks are notified of one after the other
			w.Send("a")
			w.start()
			w.after(time.Duration(test.want)*time.Second + time.Hour)
			w.wantHandled("a", "a")
			if got := w.returned("a"); len(got) != 1 || math.Abs(got[0]-test.want) > 1.1 {
				t.Errorf("%s: came back at %v s, want %v", test.name, got, test.want)
			}
			w.wantOutcomes(batch.Retry, batch.Succeeded)
			if r := w.results[0]; !r.VisibilitySet || math.Abs(r.VisibleIn.Seconds()-test.want) > 1.1 {
				t.Errorf("%s: the result says visible in %v (%v)", test.name, r.VisibleIn, r.VisibilitySet)
			}
		})
	}
}

// A permanent failure is sent or dropped once, and deleted until that works.
func TestDeadLetterDeleteFails_IsSentOnceAndDeleteRetried(t *testing.T) {
	for policy, want := range map[partialfailure.OnPermanent]batch.Outcome{partialfailure.DeadLetter: batch.DeadLettered, partialfailure.Drop: batch.Dropped} {
		inWorld(t, standardQueue, func(context.Context, batch.Record) error { return batch.Permanent(errors.New("boom")) }, func(c *longpoll.Config) {
			c.Failures.OnPermanent = policy
		}, func(w *world) {
			w.inject(sqs.Fault{Kind: sqs.EntryFailure, Operation: deletion, Times: 20})
			w.Send("a")
			w.start()
			w.after(time.Second)
			if n := w.p.Status().Undeleted; n != 1 {
				t.Errorf("%s: Undeleted is %d, want 1", policy, n)
			}
			w.after(5 * time.Minute)
			w.wantHandled("a")
			w.wantOutcomes(want)
			w.wantDeleted(1)
			dead := 0
			if want == batch.DeadLettered {
				dead = 1
			}
			if s := w.p.Status(); w.count("SendMessageBatch") != dead || len(w.DeadLetters()) != dead || s.Undeleted != 0 || s.Counts.Failed != 1 {
				t.Errorf("%s: sent %d times, status %+v", policy, w.count("SendMessageBatch"), s)
			}
		})
	}
}

// What the queue has said before names the dead-letter queue: records go there although
// SQS does not answer the question again, which is not asked forever.
func TestAttributesUnanswered_RecordsAreDeadLettered(t *testing.T) {
	never := func(context.Context, batch.Record) error { return batch.Permanent(errors.New("no such order")) }
	for _, kind := range []sqs.FaultKind{sqs.Throttled, sqs.Hang, sqs.Failure} {
		t.Run(string(kind), func(t *testing.T) {
			inWorld(t, standardQueue, never, nil, func(w *world) {
				w.start()
				w.after(6 * time.Minute) // the answer is out of date
				w.inject(sqs.Fault{Kind: kind, Operation: "GetQueueAttributes"})
				w.Send("a", "b")
				w.after(5 * time.Second)
				w.Send("c")
				w.after(time.Minute)
				if n := len(w.bodies()); n != 3 {
					t.Errorf("3 records were handled %d times", n)
				}
				w.wantOutcomes(batch.DeadLettered, batch.DeadLettered, batch.DeadLettered)
				asked := w.count("GetQueueAttributes")
				w.after(time.Hour)
				if n := w.count("GetQueueAttributes") - asked; n > 2 {
					t.Errorf("%d questions in an hour in which nothing is to be sent", n)
				}
				w.stopWithin(time.Second)
			})
		})
	}
}

// attempts are those that the hooks were notified of, each with the last one.
func (w *world) attempts() (list []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.results {
		list = append(list, fmt.Sprintf("%v at %d of %d", r.Outcome, r.Record.Attempt, r.MaxReceiveCount))
	}
	return list
}

// deliverOften sends a message that comes to the poller at an attempt.
func (w *world) deliverOften(body string, attempt int) {
	w.t.Helper()
	w.Send(body)
	for range attempt - 1 {
		list := w.Receive(1)
		if len(list) != 1 {
			w.t.Fatalf("%d received, want 1", len(list))
		}
		w.changeVisibility(list[0].ReceiptHandle, 0)
	}
}

// A handler that hangs is what most often takes records to the dead-letter queue.
func TestAbandonedAtLastTwoAttempts_IsWarnedOf(t *testing.T) {
	for name, configured := range map[string]int{"asked": 0, "configured": 5} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, standardQueue, ignoring, func(c *longpoll.Config) {
				c.Engine.RecordTimeout, c.Visibility, c.MaxAbandoned = time.Second, 10*time.Second, 100
				c.Failures.MaxReceiveCount, c.Failures.Backoff = configured, func(int) time.Duration { return time.Second }
			}, func(w *world) {
				w.Send("a")
				w.start()
				asked := w.count("GetQueueAttributes")
				w.after(2 * time.Minute)
				if n := len(w.DeadLetters()); n != 1 {
					t.Fatalf("%d dead letters, want 1: the test tests nothing", n)
				}
				want := fmt.Sprint([]string{"abandoned at 1 of 5", "abandoned at 2 of 5", "abandoned at 3 of 5", "abandoned at 4 of 5", "abandoned at 5 of 5"})
				if got := fmt.Sprint(w.attempts()); got != want {
					t.Errorf("the hooks got %s, want %s", got, want)
				}
				warned := w.warningsWith("left before the dead-letter queue")
				if len(warned) != 2 || len(w.warnings) != 2 {
					t.Errorf("warned %q, want of two attempts", w.warnings)
				}
				if n := w.count("GetQueueAttributes") - asked; n != 0 {
					t.Errorf("asked %d times after the start", n)
				}
			})
		})
	}
}

// What a stop gives back had its last attempt, too.
func TestStoppedAtLastAttempt_IsWarnedOf(t *testing.T) {
	for name, h := range map[string]handle{"heeds": heeding, "hangs": ignoring} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, standardQueue, h, func(c *longpoll.Config) { c.DrainLimit = time.Second }, func(w *world) {
				w.deliverOften("a", 5)
				w.start()
				w.after(time.Second)
				w.stop()
				w.after(time.Second)
				got := w.attempts()
				if len(got) != 1 || got[0] != "retry at 5 of 5" && got[0] != "abandoned at 5 of 5" {
					t.Errorf("the hooks got %q", got)
				}
				w.wantWarned(1, "no attempt left before the dead-letter queue (5 of 5 used)")
			})
		})
	}
}

// A missing answer about the queue keeps no hook from being called, and delays no stop.
func TestQueueAttributesUnknown_DelaysNothing(t *testing.T) {
	inWorld(t, standardQueue, ignoring, func(c *longpoll.Config) { c.Engine.RecordTimeout, c.DrainLimit = time.Second, time.Second }, func(w *world) {
		w.deliverOften("a", 3)
		var started atomic.Bool
		w.Fault = func(operation string, r *http.Request) (*http.Response, error) {
			if operation == "GetQueueAttributes" && !started.Load() {
				return testqueue.Answer(r, 403, "AccessDenied", "")
			}
			return nil, nil
		}
		w.start()
		started.Store(true)
		w.inject(sqs.Fault{Kind: sqs.Hang, Operation: "GetQueueAttributes"})
		w.after(12 * time.Second) // timeout, grace, and what calls are made again for
		if got := fmt.Sprint(w.attempts()); got != "[abandoned at 3 of 0]" {
			t.Errorf("the hooks got %s", got)
		}
		w.wantWarned(1, "GetQueueAttributes: no answer from SQS")
		w.p.Pause()
		w.after(time.Second)
		w.deliverOften("b", 3)
		w.p.Resume()
		w.after(1500 * time.Millisecond)            // it is given up during the stop
		if took := w.stop(); took > 6*time.Second { // the limit, the grace, and 4 s
			t.Errorf("the stop took %v", took)
		}
		w.after(time.Second)
		if n := len(w.attempts()); n != 2 {
			t.Errorf("the hooks got %d records, want 2", n)
		}
	})
}
