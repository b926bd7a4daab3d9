package longpoll_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/test/testqueue"
)

const receiving = "ReceiveMessage"

// gaps are the times between receives.
func gaps(w *world) (list []time.Duration) {
	calls := w.Server().Calls(receiving)
	for i := 1; i < len(calls); i++ {
		list = append(list, calls[i].Began.Sub(calls[i-1].Ended))
	}
	return list
}

// Receive errors are no hot loop.
func TestReceiveFails_BacksOff(t *testing.T) {
	for _, kind := range []sqs.FaultKind{sqs.Refused, sqs.Throttled, sqs.Failure} {
		inWorld(t, standardQueue, ok, nil, func(w *world) {
			w.start()
			w.after(time.Second)
			calls := len(w.Server().Calls(receiving))
			w.inject(sqs.Fault{Kind: kind, Operation: receiving})
			w.after(10 * time.Minute)
			list := gaps(w)[calls+1:]
			if len(list) < 30 {
				t.Fatalf("%s: %d receives were tried in 10 min, want one in 20 s at least", kind, len(list))
			}
			jitter := false
			for i, gap := range list {
				full := 20 * time.Second
				if i < 7 {
					full = min(full, 200*time.Millisecond<<i)
				}
				if gap < full/2 || gap > full+time.Millisecond {
					t.Errorf("%s: %v between the tries %d and %d, want %v to %v", kind, gap, i+1, i+2, full/2, full)
				}
				jitter = jitter || gap != full
			}
			if !jitter {
				t.Errorf("%s: no jitter in %v", kind, list)
			}
			if s := w.p.Status(); s.State != "failing" || s.LastError == "" || s.LastErrorAt.IsZero() {
				t.Errorf("%s: status %+v", kind, s)
			}
			w.wantOutage("receiving fails", 2)

			w.Server().ClearFaults()
			w.Send("a")
			w.after(21 * time.Second)
			w.wantHandled("a")
			if got := w.warningsWith("receiving works again"); len(got) != 1 || len(w.warningsWith("")) != 4 {
				t.Errorf("%s: warned of %q, want one line more", kind, w.warnings)
			}
			if s := w.p.Status(); s.State != "polling" {
				t.Errorf("%s: the poller is %s", kind, s.State)
			}
		})
	}
}

func TestSQSDown_MakesAtMostOneRequestASecond(t *testing.T) {
	inWorld(t, standardQueue, lasting(time.Second), nil, func(w *world) {
		w.sendMany(200)
		w.start()
		w.after(5 * time.Second)
		w.inject(sqs.Fault{Kind: sqs.Refused})
		w.after(time.Minute)
		w.ForgetCalls()
		w.after(10 * time.Minute)
		if n := len(w.Calls()); n > 600 {
			t.Errorf("%d requests in 10 min, want at most one a second: %d receives, %d deletes, %d extensions", n, w.count(receiving), w.count(deletion), w.count(extension))
		}
	})
}

// A call that is never answered ends, and is a failure as any other.
func TestReceiveHangs_IsEndedAndRepeated(t *testing.T) {
	inWorld(t, standardQueue, ok, nil, func(w *world) {
		w.start()
		w.after(time.Second)
		w.inject(sqs.Fault{Kind: sqs.Hang, Operation: receiving, Times: 1})
		w.after(20 * time.Second) // the open one is over, the next one hangs
		w.Send("a")
		w.after(31 * time.Second)
		w.wantHandled("a")
		if got := w.warningsWith("no answer from SQS in time"); len(got) != 1 {
			t.Errorf("warned of %q", w.warnings)
		}
	})
}

func TestErrorWhileRunning_PollerGoesOn(t *testing.T) {
	for _, code := range []string{"AccessDenied", "QueueDoesNotExist", "ExpiredToken", "InvalidClientTokenId", "RequestThrottled", "KmsAccessDenied", "InvalidAddress"} {
		inWorld(t, standardQueue, ok, nil, func(w *world) {
			var fails atomic.Bool
			w.Fault = func(operation string, r *http.Request) (*http.Response, error) {
				if fails.Load() && operation != "SendMessage" {
					return testqueue.Answer(r, 400, code, "")
				}
				return nil, nil
			}
			w.start()
			w.after(time.Second)
			fails.Store(true)
			w.after(30 * time.Minute)
			if s := w.p.Status(); s.State != "failing" || !strings.Contains(s.LastError, code) {
				t.Errorf("%s: the poller is %s, LastError %q", code, s.State, s.LastError)
			}
			w.wantOutage("receiving fails", 6)
			fails.Store(false)
			w.Send("a")
			w.after(21 * time.Second)
			w.wantHandled("a")
			w.stop()
		})
	}
}

func TestQueueDeletedAndRecreated_PollerRecovers(t *testing.T) {
	inWorld(t, standardQueue, ok, nil, func(w *world) {
		w.start()
		w.after(time.Second)
		ctx, url, name := context.Background(), w.URL, "orders"
		if _, err := w.Client.DeleteQueue(ctx, &awssqs.DeleteQueueInput{QueueUrl: &url}); err != nil {
			t.Fatal(err)
		}
		w.after(2 * time.Minute)
		if s := w.p.Status(); s.State != "failing" {
			t.Errorf("the poller is %s", s.State)
		}
		if _, err := w.Client.CreateQueue(ctx, &awssqs.CreateQueueInput{QueueName: &name}); err != nil {
			t.Fatal(err)
		}
		w.Send("a")
		w.after(21 * time.Second)
		w.wantHandled("a")
		w.stop()
	})
}

// After an outage the first receive does not wait for messages, so that an idle queue's
// poller is soon ready again.
func TestReceive_AfterAnOutageAnIdlePollerIsSoonReady(t *testing.T) {
	inWorld(t, standardQueue, ok, nil, func(w *world) {
		w.start()
		w.after(time.Second)
		w.inject(sqs.Fault{Kind: sqs.Refused, Operation: receiving})
		w.after(30 * time.Second)
		if s := w.p.Status(); s.State != "failing" {
			t.Fatalf("the poller is %s: the test tests nothing", s.State)
		}
		w.Server().ClearFaults()
		w.after(21 * time.Second)
		if s := w.p.Status(); s.State != "polling" {
			t.Errorf("21 s after the outage the poller is %s: the longest delay is 20 s", s.State)
		}
	})
}

// One connection that breaks, as when SQS changes hosts, must not make every
// later receive shorter: an idle queue would cost more forever.
func TestOneConnectionBreaks_WaitRecovers(t *testing.T) {
	inWorld(t, standardQueue, ok, nil, func(w *world) {
		broken := false
		w.Fault = func(operation string, r *http.Request) (*http.Response, error) {
			if operation != receiving || broken || w.seconds() < 10 {
				return nil, nil
			}
			broken = true
			time.Sleep(3 * time.Second)
			return nil, syscall.ECONNRESET
		}
		w.start()
		w.after(30 * time.Minute)
		w.ForgetCalls()
		w.after(time.Hour)
		if n := len(w.Calls()); n > 190 {
			t.Errorf("%d requests in an hour of idling, long after one connection broke; want about 180", n)
		}
	})
}
