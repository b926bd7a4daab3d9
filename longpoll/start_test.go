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

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/testqueue"
	"github.com/sqsbatch/sqsbatch/longpoll"
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
			if got := w.warningsWith("works again"); len(got) != 1 {
				t.Errorf("%s: warned of %q", kind, w.warnings)
			}
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
		if got := w.warningsWith("clock is wrong"); len(got) != 1 {
			t.Errorf("warned of %q", w.warnings)
		}
		valid.Store(true)
		w.Send("a")
		w.after(20 * time.Second)
		w.wantHandled("a")
		w.stop()
	})
}

// Without permission to ask for the queue's attributes, its URL says enough.
func TestGetQueueAttributesDenied_QueueURLSuffices(t *testing.T) {
	denied := func(operation string, r *http.Request) (*http.Response, error) {
		if operation == "GetQueueAttributes" {
			return testqueue.Answer(r, 403, "AccessDenied", "")
		}
		return nil, nil
	}
	var arn, region string
	h := func(_ context.Context, r batch.Record) error { arn, region = r.QueueARN, r.Region; return nil }
	for _, fifo := range []bool{false, true} {
		for _, c := range []longpoll.Config{{}, {NoHeartbeat: true, Visibility: time.Minute}} {
			inWorld(t, fifo, h, func(cfg *longpoll.Config) { cfg.NoHeartbeat, cfg.Visibility = c.NoHeartbeat, c.Visibility }, func(w *world) {
				w.Fault = denied
				w.Send("g:1")
				w.start()
				w.after(time.Second)
				if arn != w.ARN || region != "eu-west-1" || w.deleted() != 1 {
					t.Errorf("a record of %q in %q, want %q; %d deleted", arn, region, w.ARN, w.deleted())
				}
			})
		}
	}
	inWorld(t, standardQueue, h, func(cfg *longpoll.Config) { cfg.NoHeartbeat = true }, func(w *world) {
		w.Fault = denied
		var c *longpoll.ConfigError
		if err := w.p.Run(context.Background()); !errors.As(err, &c) || !strings.Contains(err.Error(), "sqs:GetQueueAttributes") {
			t.Errorf("Run returned %v, want a ConfigError: without heartbeats the visibility timeout must be known", err)
		}
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
		w.Fault = func(operation string, r *http.Request) (*http.Response, error) {
			if operation == "GetQueueUrl" {
				return testqueue.Answer(r, 200, "", "{}")
			}
			return nil, nil
		}
		w.start()
		w.after(time.Minute)
		w.stop() // no panic
	})
}

// The queue's own visibility timeout may be too short to do without heartbeats.
func TestNoHeartbeatAndShortVisibility_IsConfigError(t *testing.T) {
	inWorld(t, standardQueue, ok, func(c *longpoll.Config) { c.NoHeartbeat = true }, func(w *world) {
		_, err := w.Client.SetQueueAttributes(context.Background(), &awssqs.SetQueueAttributesInput{
			QueueUrl: &w.URL, Attributes: map[string]string{"VisibilityTimeout": "2"}})
		if err != nil {
			t.Fatal(err)
		}
		var c *longpoll.ConfigError
		if err := w.p.Run(context.Background()); !errors.As(err, &c) || !strings.Contains(err.Error(), "SQSBATCH_VISIBILITY") || !strings.Contains(err.Error(), "2s") {
			t.Errorf("Run returned %v, want a ConfigError that names the timeout", err)
		}
	})
}

// What Run itself finds is reported without a guess at what SQS may have meant.
func TestConfigErrorOfRun_SaysWhatToDoOnce(t *testing.T) {
	tests := []struct {
		visibility string
		change     func(*longpoll.Config)
		says       string
	}{
		{"300", func(c *longpoll.Config) { c.Engine.MinRemaining = 10 * time.Minute },
			"Engine.MinRemaining is 10m0s (with package handler: SQSBATCH_MIN_REMAINING): with NoHeartbeat no record would ever be started, since a record must be done in 4m55s, the visibility timeout less a margin"},
		{"1", func(*longpoll.Config) {},
			"the queue's visibility timeout is 1s: without heartbeats that is too short to handle a record. Set it, or Visibility (with package handler: SQSBATCH_VISIBILITY), to at least 3s"},
	}
	for _, test := range tests {
		inWorld(t, standardQueue, ok, func(c *longpoll.Config) { c.NoHeartbeat = true; test.change(c) }, func(w *world) {
			_, err := w.Client.SetQueueAttributes(context.Background(), &awssqs.SetQueueAttributesInput{
				QueueUrl: &w.URL, Attributes: map[string]string{"VisibilityTimeout": test.visibility}})
			if err != nil {
				t.Fatal(err)
			}
			w.start()
			if err, want := <-w.err, "longpoll: queue "+w.URL+": "+test.says; err == nil || err.Error() != want {
				t.Errorf("Run returned %q, want %q", err, want)
			}
		})
	}
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

// A record that is not extended cannot have more than its visibility.
func TestNoHeartbeatAndLongRecordTimeout_IsConfigError(t *testing.T) {
	inWorld(t, standardQueue, ok, func(c *longpoll.Config) { c.NoHeartbeat, c.Engine.RecordTimeout = true, 301*time.Second }, func(w *world) {
		w.start() // the queue's visibility timeout is 5 min
		w.after(time.Second)
		select {
		case err := <-w.err:
			var c *longpoll.ConfigError
			if !errors.As(err, &c) || !strings.Contains(err.Error(), "SQSBATCH_RECORD_TIMEOUT") || !strings.Contains(err.Error(), "5m0s") {
				t.Errorf("Run returned %v, want a ConfigError that names both", err)
			}
		default:
			t.Error("Run goes on, want a ConfigError")
		}
	})
}
