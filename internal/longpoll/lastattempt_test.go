package longpoll_test

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
	"github.com/sqsbatch/sqsbatch/test/testqueue"
)

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
				if got := w.warningsWith("no attempt left before the dead-letter queue (5 of 5 used)"); len(got) != 1 {
					t.Errorf("warned %q", w.warnings)
				}
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
		if got := w.warningsWith("GetQueueAttributes: no answer from SQS"); len(got) != 1 {
			t.Errorf("warned %q", w.warnings)
		}
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
