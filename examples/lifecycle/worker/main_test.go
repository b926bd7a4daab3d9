package main

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sqsbatch/sqsbatch/examples/lifecycle/internal/stoptest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The worker does one order, and eleven wait for it. The stop takes as long as that one.
func TestStop_TakesTheTimeOfTheWorkersRecord(t *testing.T) {
	stoptest.Run(t, 12, func(t *testing.T, q *stoptest.Queue) {
		stop := stoptest.Start(t, func(ctx context.Context) error { return run(ctx, q.Config) })
		time.Sleep(time.Second)
		q.RequireStop(2*time.Second, stop)
		q.RequireMessages(1, 11)
	})
}
