package main

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sqsbatch/sqsbatch/examples/lifecycle/internal/stoptest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The worker finishes what handlers wait to hand over: three orders, one after another.
func TestStop_TakesTheTimeOfTheWork(t *testing.T) {
	stoptest.Run(t, 3, func(t *testing.T, q *stoptest.Queue) {
		stop := stoptest.Start(t, func(ctx context.Context) error { return run(ctx, q.Config) })
		time.Sleep(time.Second)
		q.RequireStop(8*time.Second, stop)
		q.RequireMessages(3, 0)
	})
}

// More than the drain has time for: what is left is released.
func TestStop_MoreWorkThanTime(t *testing.T) {
	stoptest.Run(t, 12, func(t *testing.T, q *stoptest.Queue) {
		stop := stoptest.Start(t, func(ctx context.Context) error { return run(ctx, q.Config) })
		time.Sleep(time.Second)
		q.RequireStop(24*time.Second, stop)
		q.RequireMessages(8, 4)
	})
}
