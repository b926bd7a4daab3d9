package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/test/testqueue"
)

// While the service is down nothing is received, and afterwards everything is
// handled at its first attempt.
func TestNothingIsReceivedWhileTheServiceIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := testqueue.New(t, testqueue.Standard)
		var down atomic.Bool
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- run(ctx, batch.HandlerFunc(func(context.Context, batch.Record) error { return nil }),
				handler.Config{SQS: q.Client, Logger: slog.New(slog.DiscardHandler), Poll: handler.PollConfig{Queues: []string{q.URL}}},
				func(context.Context) error {
					if down.Load() {
						return errors.New("it is down")
					}
					return nil
				})
		}()
		check := func(when string, received, deleted int) {
			t.Helper()
			r, d := q.Events(sqs.Received), q.Events(sqs.Deleted)
			if len(r) != received || len(d) != deleted {
				t.Errorf("%s: %d received, %d deleted, want %d and %d", when, len(r), len(d), received, deleted)
			}
		}
		q.Send("a", "b", "c")
		time.Sleep(time.Second)
		check("at first", 3, 3)
		down.Store(true)
		time.Sleep(10 * time.Second)
		q.Send("d", "e", "f", "g", "h")
		time.Sleep(time.Hour)
		check("while it is down", 3, 3)
		down.Store(false)
		time.Sleep(6 * time.Second)
		check("when it is up again", 8, 8)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestTheServiceIsAsked(t *testing.T) {
	status := http.StatusOK
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/health" && r.URL.RequestURI() != "/order?id=m-1" {
			t.Errorf("asked for %s", r.URL)
		}
		w.WriteHeader(status)
	}))
	defer shop.Close()
	s := &service{url: shop.URL}
	if err := errors.Join(s.healthy(t.Context()), s.order(t.Context(), batch.Record{MessageID: "m-1"})); err != nil {
		t.Error(err)
	}
	status = http.StatusServiceUnavailable
	if s.healthy(t.Context()) == nil || s.order(t.Context(), batch.Record{MessageID: "m-1"}) == nil {
		t.Error("no error while the service is unavailable")
	}
}
