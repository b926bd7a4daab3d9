package longpoll_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/smithy-go"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
	"github.com/sqsbatch/sqsbatch/test/testqueue"
)

func TestSQSDownAtStart_RunGoesOn(t *testing.T) {
	for _, kind := range []sqs.FaultKind{sqs.Refused, sqs.Hang, sqs.Failure, sqs.Throttled} {
		inWorld(t, standardQueue, ok, nil, func(w *world) {
			w.Send("a")
			w.inject(sqs.Fault{Kind: kind})
			w.start()
			w.after(5 * time.Minute)
			if s := w.p.Status(); s.State != "failing" {
				t.Errorf("%s: the poller is %s", kind, s.State)
			}
			w.wantOutage("the queue cannot be looked up", 1)
			w.Server().ClearFaults()
			w.after(30 * time.Second)
			w.wantHandled("a")
			w.wantWarned(1, "works again")
			w.stop()
		})
	}
}

func TestConfigErrorAtStart_RunEnds(t *testing.T) {
	tests := []struct{ operation, code, says string }{
		{"GetQueueAttributes", "AWS.SimpleQueueService.NonExistentQueue", "there is no such queue"},
		{"GetQueueAttributes", "QueueDoesNotExist", "there is no such queue"},
		{receiving, "QueueDoesNotExist", "there is no such queue"},
		{receiving, "AccessDeniedException", "sqs:ReceiveMessage"},
		{receiving, "KmsAccessDenied", "kms:Decrypt"},
		{"GetQueueAttributes", "InvalidClientTokenId", "does not accept the credentials"},
		{"GetQueueAttributes", "SignatureDoesNotMatch", "does not accept the credentials"},
		{"GetQueueAttributes", "InvalidSignatureException", "does not accept the credentials"},
		{receiving, "UnrecognizedClientException", "does not accept the credentials"},
	}
	for _, test := range tests {
		inWorld(t, standardQueue, ok, nil, func(w *world) {
			w.Fault = func(operation string, r *http.Request) (*http.Response, error) {
				if operation == test.operation {
					return testqueue.Answer(r, 403, test.code, "")
				}
				return nil, nil
			}
			w.start()
			w.after(time.Second)
			select {
			case err := <-w.err:
				var c *longpoll.ConfigError
				var api smithy.APIError
				if !errors.As(err, &c) || c.Queue != w.URL || !errors.As(err, &api) || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), w.URL) {
					t.Errorf("%s of %s: Run returned %v, want a ConfigError that says %q and names the queue", test.code, test.operation, err, test.says)
				}
			default:
				t.Errorf("%s of %s did not end Run", test.code, test.operation)
			}
			if s := w.p.Status(); s.State != "stopped" {
				t.Errorf("%s of %s: the poller is %s", test.code, test.operation, s.State)
			}
			if err := w.p.Shutdown(context.Background()); err != nil {
				t.Errorf("Shutdown: %v", err)
			}
		})
	}
}

// Expired credentials may be renewed: that is no mistake in the configuration.
func TestExpiredCredentialsAtStart_RunGoesOn(t *testing.T) {
	inWorld(t, standardQueue, ok, nil, func(w *world) {
		var valid atomic.Bool
		w.Fault = func(_ string, r *http.Request) (*http.Response, error) {
			if valid.Load() {
				return nil, nil
			}
			return testqueue.Answer(r, 403, "ExpiredToken", "")
		}
		w.start()
		w.after(time.Minute)
		w.wantWarned(1, "clock is wrong")
		valid.Store(true)
		w.Send("a")
		w.after(20 * time.Second)
		w.wantHandled("a")
		w.stop()
	})
}

func TestQueueByName_IsLookedUp(t *testing.T) {
	inWorld(t, fifoQueue, ok, func(c *longpoll.Config) { c.Queue = "orders.fifo" }, func(w *world) {
		w.Send("g:1")
		w.start()
		w.after(time.Second)
		w.wantHandled("g:1")
		w.stop()
	})
	for _, name := range []string{"nothing", "https://example.com"} {
		inWorld(t, standardQueue, ok, func(c *longpoll.Config) { c.Queue = name }, func(w *world) {
			var c *longpoll.ConfigError
			if err := w.p.Run(context.Background()); !errors.As(err, &c) || c.Queue != name {
				t.Errorf("Run of %q returned %v, want a ConfigError", name, err)
			}
		})
	}
	inWorld(t, standardQueue, ok, func(c *longpoll.Config) { c.Queue = "orders" }, func(w *world) {
		w.Fault = answer("GetQueueUrl", 200, "", "{}")
		w.start()
		w.after(time.Minute)
		w.stop() // no panic
	})
}

// A queue given by ARN costs no look-up.
func TestAQueueByItsARN(t *testing.T) {
	for _, fifo := range []bool{false, true} {
		inWorld(t, fifo, ok, func(c *longpoll.Config) {
			arn := "arn:aws:sqs:eu-west-1:123456789012:" + batch.QueueName(c.Queue)
			c.Queue = arn
		}, func(w *world) {
			w.Send("g:a")
			w.start()
			w.after(time.Second)
			w.wantHandled("g:a")
			if w.deleted() != 1 || slices.Contains(w.Calls(), "GetQueueUrl") {
				t.Errorf("%d of 1 deleted, calls %q", w.deleted(), w.Calls())
			}
		})
	}
}
