package handler

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

func TestEveryFieldReachesItsPackage(t *testing.T) {
	hook := &watcher{}
	c := Config{
		Concurrency: 7, Reserve: 1, RecordTimeout: 2, MinRemaining: 3, Grace: 4, Deadline: func(batch.Start) time.Duration { return 5 },
		Backoff: partialfailure.Constant(6 * time.Second), DeadLetterQueue: "https://sqs/1/dead", MaxReceiveCount: 8, OnPermanent: partialfailure.Drop,
		DeleteSucceeded: true, Hooks: []any{hook}, Logger: slog.New(slog.DiscardHandler),
	}
	e := c.engine()
	if e.Concurrency != 7 || e.Reserve != 1 || e.RecordTimeout != 2 || e.MinRemaining != 3 || e.Grace != 4 || e.Deadline == nil || len(e.Hooks) != 2 || e.Hooks[0] != any(hook) {
		t.Errorf("batch gets %+v", e)
	}
	hooks := &batch.Hooks{}
	s := c.settler(hooks)
	if s.Backoff == nil || s.Backoff(1) != 6*time.Second || s.DeadLetterQueue != "https://sqs/1/dead" || s.MaxReceiveCount != 8 || s.OnPermanent != partialfailure.Drop || !s.DeleteDone || s.Hooks != hooks {
		t.Errorf("partialfailure gets %+v", s)
	}
}

func TestDryRunIsOnlyForSAMLocalWithoutAnEndpoint(t *testing.T) {
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
		if got := cfg.settler(nil).DryRun; got != c.want {
			t.Errorf("%s: dry run %v", name, got)
		}
	}
}

// watcher is a hook that notes what it is told of batches, in order.
type watcher struct {
	told []string
	info batch.BatchInfo
	set  bool // the visibility, when the batch was settled
}

func (w *watcher) BatchStarted(_ context.Context, b batch.BatchInfo) {
	w.told, w.info = append(w.told, "started"), b
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
		l, err := New(batch.HandlerFunc(func(context.Context, batch.Record) error {
			w.told = append(w.told, "handled")
			return batch.RetryAfter(time.Second, nil)
		}), Config{Hooks: []any{w}, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
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

func TestRule11ABatchWithoutFailuresIsNoError(t *testing.T) {
	l, err := New(batch.HandlerFunc(func(context.Context, batch.Record) error { return nil }),
		Config{DeleteSucceeded: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := l.Invoke(t.Context(), []byte(`{"Records":[{"messageId":"m"}]}`)); err != nil || string(got) != `{"batchItemFailures":[]}` {
		t.Errorf("%s, %v", got, err)
	}
}
