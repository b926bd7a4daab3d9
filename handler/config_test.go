package handler

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/hooks"
	"github.com/sqsbatch/sqsbatch/partialfailure"
	"github.com/sqsbatch/sqsbatch/test/testhooks"
)

// mustNew is New with a good configuration.
func mustNew(t *testing.T, h batch.Handler, c Config) *LambdaHandler {
	t.Helper()
	l, err := New(h, c)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestEveryFieldReachesItsPackage(t *testing.T) {
	hook := &watcher{}
	c := Config{
		Concurrency: 7, Reserve: 1, RecordTimeout: 2, MinRemaining: 3, Grace: 4,
		Failures:                  partialfailure.Config{Backoff: func(int) time.Duration { return 6 * time.Second }, DeadLetterQueue: "https://sqs/1/dead", MaxReceiveCount: 8, OnPermanent: partialfailure.Drop},
		NoReportBatchItemFailures: true, Hooks: testhooks.Of(hook), Logger: slog.New(slog.DiscardHandler),
	}
	c.Classify = batch.Permanent
	e := c.engine(Queue{})
	if !batch.VerdictOf(e.Classify(context.Canceled)).Permanent {
		t.Error("Classify is not handed on")
	}
	if e.Concurrency != 7 || e.Reserve != 1 || e.RecordTimeout != 2 || e.MinRemaining != 3 || e.Grace != 4 {
		t.Errorf("batch gets %+v", e)
	}
	hooks := &hooks.Set{}
	if got, want := c.failures().Name, filepath.Base(os.Args[0]); got != want {
		t.Errorf("in a container the name is %q, want the program's %q", got, want)
	}
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "ship")
	s := c.settling(hooks)
	if s.Backoff == nil || s.Backoff(1) != 6*time.Second || s.DeadLetterQueue != "https://sqs/1/dead" || s.MaxReceiveCount != 8 || s.OnPermanent != partialfailure.Drop || !s.DeleteIfOthersFail || s.Name != "ship" || s.Hooks != hooks {
		t.Errorf("partialfailure gets %+v", s)
	}
}

func TestSQSIsNotCalledOnlyUnderSAMLocalWithoutAnEndpoint(t *testing.T) {
	for name, c := range map[string]struct {
		sam, endpoint, sqsEndpoint string
		client                     *sqs.Client
		want                       bool
	}{
		"sam local":                 {"true", "", "", nil, true},
		"Lambda":                    {"", "", "", nil, false},
		"an endpoint for all":       {"true", "http://localhost:4566", "", nil, false},
		"an endpoint for SQS":       {"true", "", "http://localhost:9324", nil, false},
		"a client of the program's": {"true", "", "", &sqs.Client{}, false},
	} {
		t.Setenv("AWS_SAM_LOCAL", c.sam)
		t.Setenv("AWS_ENDPOINT_URL", c.endpoint)
		t.Setenv("AWS_ENDPOINT_URL_SQS", c.sqsEndpoint)
		cfg := Config{SQS: c.client}
		if got := cfg.samLocal(); got != c.want {
			t.Errorf("%s: without SQS: %v", name, got)
		}
	}
}

// watcher is a hook that notes the batches of which it is notified, in order.
type watcher struct {
	told []string
	info batch.BatchInfo
	set  bool // the visibility, when the batch was settled
}

func (w *watcher) BatchContext(ctx context.Context, b batch.BatchInfo, _ []batch.Record) context.Context {
	w.told, w.info = append(w.told, "started"), b
	return ctx
}

func (w *watcher) BatchSettled(_ context.Context, _ batch.BatchInfo, results []batch.Result) {
	w.told, w.set = append(w.told, "settled"), results[0].VisibilitySet
}

func TestHooksAreToldOfABatchBeforeAndAfterItIsSettled(t *testing.T) {
	t.Setenv("AWS_SAM_LOCAL", "true")
	t.Setenv("AWS_ENDPOINT_URL", "")
	t.Setenv("AWS_ENDPOINT_URL_SQS", "")
	synctest.Test(t, func(t *testing.T) {
		w := &watcher{}
		l := mustNew(t, batch.HandlerFunc(func(context.Context, batch.Record) error {
			w.told = append(w.told, "handled")
			return batch.RetryAfter(time.Second, nil)
		}), Config{Hooks: testhooks.Of(w), Logger: slog.New(slog.DiscardHandler)})
		if _, err := l.Invoke(t.Context(), []byte(`{"Records":[{"messageId":"m","eventSourceARN":"arn:aws:sqs:eu-west-1:1:q"}]}`)); err != nil {
			t.Fatal(err)
		}
		if len(w.told) != 3 || w.told[0] != "started" || w.told[1] != "handled" || w.told[2] != "settled" || !w.set {
			t.Errorf("told %v, the visibility set: %v", w.told, w.set)
		}
		if w.info.Records != 1 || w.info.QueueARN != "arn:aws:sqs:eu-west-1:1:q" || !w.info.Started.Equal(time.Now()) {
			t.Errorf("%+v", w.info)
		}
	})
}

func TestDeleteSucceededWithoutFailures_IsNoError(t *testing.T) {
	l := mustNew(t, batch.HandlerFunc(func(context.Context, batch.Record) error { return nil }),
		Config{NoReportBatchItemFailures: true, Logger: slog.New(slog.DiscardHandler)})
	if got, err := l.Invoke(t.Context(), []byte(`{"Records":[{"messageId":"m"}]}`)); err != nil || string(got) != `{"batchItemFailures":[]}` {
		t.Errorf("%s, %v", got, err)
	}
}

func TestFieldsSetInCode_OverrideTheirVariables(t *testing.T) {
	t.Setenv("SQSBATCH_CONCURRENCY", "7")
	for _, name := range []string{"RESERVE", "RECORD_TIMEOUT", "MIN_REMAINING", "GRACE"} {
		t.Setenv("SQSBATCH_"+name, "7s")
	}
	t.Setenv("SQSBATCH_DEAD_LETTER_QUEUE", "https://sqs/1/other")
	t.Setenv("SQSBATCH_MAX_RECEIVE_COUNT", "7")
	t.Setenv("SQSBATCH_ON_PERMANENT", "drop")
	for _, name := range []string{"ERROR_IF_ALL_FAIL", "DELETE_SUCCEEDED", "LOG_SUCCEEDED"} {
		t.Setenv("SQSBATCH_"+name, "false")
	}
	const want = "https://sqs/1/dead"
	c := Config{Concurrency: 3, Reserve: 1, RecordTimeout: 2, MinRemaining: 3, Grace: 4, Failures: partialfailure.Config{DeadLetterQueue: want, MaxReceiveCount: 6, OnPermanent: partialfailure.Retry}, ErrorIfAllFail: true, NoReportBatchItemFailures: true, LogSucceeded: true}
	if err := c.fromEnvironment(); err != nil || c.Concurrency != 3 || c.Reserve != 1 || c.RecordTimeout != 2 || c.MinRemaining != 3 || c.Grace != 4 ||
		c.Failures.DeadLetterQueue != want || c.Failures.MaxReceiveCount != 6 || c.Failures.OnPermanent != partialfailure.Retry || !c.ErrorIfAllFail || !c.NoReportBatchItemFailures || !c.LogSucceeded {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestVariablesAtTheirBounds_AreAccepted(t *testing.T) {
	for name, c := range map[string]struct {
		env  map[string]string
		good func(c Config) bool
	}{
		"12h":                    {map[string]string{"SQSBATCH_GRACE": "12h"}, func(c Config) bool { return c.Grace == 12*time.Hour }},
		"a minute less":          {map[string]string{"SQSBATCH_RECORD_TIMEOUT": "11h59m"}, func(c Config) bool { return c.RecordTimeout == 719*time.Minute }},
		"base is cap":            {map[string]string{"SQSBATCH_BACKOFF": "exponential", "SQSBATCH_BACKOFF_BASE": "9s", "SQSBATCH_BACKOFF_CAP": "9s"}, func(c Config) bool { return c.Failures.Backoff(3) <= 9*time.Second }},
		"base beyond 15 minutes": {map[string]string{"SQSBATCH_BACKOFF_BASE": "1h"}, func(c Config) bool { return c.Failures.Backoff(1) <= time.Hour }},
	} {
		t.Run(name, func(t *testing.T) {
			for key, value := range c.env {
				t.Setenv(key, value)
			}
			var got Config
			if err := got.fromEnvironment(); err != nil || !c.good(got) {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

func TestLogSucceededLogsEveryRecord(t *testing.T) {
	for succeeded, want := range map[bool]int{false: 0, true: 2} {
		var buf bytes.Buffer
		l := mustNew(t, batch.HandlerFunc(func(context.Context, batch.Record) error { return nil }),
			Config{LogSucceeded: succeeded, Logger: slog.New(slog.NewTextHandler(&buf, nil))})
		if _, err := l.Invoke(t.Context(), []byte(`{"Records":[{"messageId":"a"},{"messageId":"b"}]}`)); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(buf.String(), "msg=record"); n != want {
			t.Errorf("LogSucceeded %v: %d lines, want %d", succeeded, n, want)
		}
	}
}

func TestLogBodyBytes_LogsBodiesOnlyWhenSet(t *testing.T) {
	for limit, want := range map[int]string{0: "", 5: "body=sword bodyBytes=9"} {
		var buf bytes.Buffer
		l := mustNew(t, batch.HandlerFunc(func(_ context.Context, r batch.Record) error {
			if r.MessageID == "a" {
				return errors.New("no")
			}
			return nil
		}), Config{LogBodyBytes: limit, LogSucceeded: true, Logger: slog.New(slog.NewTextHandler(&buf, nil))})
		if _, err := l.Invoke(t.Context(), []byte(`{"Records":[{"messageId":"a","body":"swordfish"},{"messageId":"b","body":"swordfish"}]}`)); err != nil {
			t.Fatal(err)
		}
		if got := buf.String(); !strings.Contains(got, want) || strings.Count(got, "sword") != limit/5 {
			t.Errorf("%d bytes: %s", limit, got)
		}
	}
	for _, n := range []int{-1, 8193} {
		if _, err := New(batch.HandlerFunc(func(context.Context, batch.Record) error { return nil }), Config{LogBodyBytes: n}); err == nil || !strings.Contains(err.Error(), "LogBodyBytes") {
			t.Errorf("LogBodyBytes %d: %v", n, err)
		}
		if err := Poll(t.Context(), batch.HandlerFunc(func(context.Context, batch.Record) error { return nil }), Config{LogBodyBytes: n, Poll: PollConfig{Queues: []string{"https://sqs.eu-west-1.amazonaws.com/1/q"}}}); err == nil || !strings.Contains(err.Error(), "LogBodyBytes") {
			t.Errorf("Poll, LogBodyBytes %d: %v", n, err)
		}
	}
}
