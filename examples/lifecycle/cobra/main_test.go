package main

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sqsbatch/sqsbatch/examples/lifecycle/internal/stoptest"
	"github.com/sqsbatch/sqsbatch/longpoll"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func execute(ctx context.Context, q *stoptest.Queue, queue string) error {
	q.Config.Poll.Queues = nil
	root := command(q.Config)
	root.SetArgs([]string{"consume", "--queue", queue, "--concurrency", "10"})
	root.SetErr(io.Discard)
	return root.ExecuteContext(ctx)
}

func TestStop_FinishesRecords(t *testing.T) {
	stoptest.Run(t, 12, func(t *testing.T, q *stoptest.Queue) {
		stop := stoptest.Start(t, func(ctx context.Context) error { return execute(ctx, q, q.URL) })
		time.Sleep(time.Second)
		q.RequireStop(2*time.Second, stop)
		q.RequireMessages(10, 2)
	})
}

func TestUnusableQueue_CommandFails(t *testing.T) {
	stoptest.Run(t, 0, func(t *testing.T, q *stoptest.Queue) {
		var wrong *longpoll.ConfigError
		if err := execute(t.Context(), q, q.URL+"-2"); !errors.As(err, &wrong) {
			t.Errorf("the command returned %v", err)
		}
	})
}
