package handler_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/handler"
)

// stuck is a log that is not read: each line blocks until read is closed.
type stuck struct {
	slog.Handler
	read chan struct{}
}

func (s stuck) Enabled(context.Context, slog.Level) bool  { return true }
func (s stuck) Handle(context.Context, slog.Record) error { <-s.read; return nil }
func (s stuck) WithAttrs([]slog.Attr) slog.Handler        { return s }

func TestStopWithBlockedLog_EndsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, client := queues(t, "orders")
		url := server.QueueURL("orders")
		send(t, client, url, "fail", "ok")
		log := stuck{read: make(chan struct{})}
		defer synctest.Wait()
		defer close(log.read)
		ctx, cancel := context.WithCancel(t.Context())
		result := make(chan error, 1)
		go func() {
			result <- handler.Poll(ctx, batch.HandlerFunc(byBody), handler.Config{
				SQS: client, Logger: slog.New(log), Poll: handler.PollConfig{Queues: []string{url}, DrainLimit: 2 * time.Second},
			})
		}()
		time.Sleep(5 * time.Second)
		cancel()
		began := time.Now()
		if err := <-result; err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > 7900*time.Millisecond {
			t.Errorf("the stop took %v, want the limit of 2 s, the grace of 1 s, 4 s and 0.9 s at most", took)
		}
		if n := len(server.Events(sqs.Deleted)); n != 1 {
			t.Errorf("%d of 1 deleted", n)
		}
	})
}
