package main

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/examples/lifecycle/internal/stoptest"
	"github.com/sqsbatch/sqsbatch/handler"
)

func execute(ctx context.Context, cfg handler.Config) error {
	queue := cfg.Poll.Queues[0]
	cfg.Poll.Queues = nil
	root := command(cfg)
	root.SetArgs([]string{"consume", "--queue", queue, "--concurrency", "10"})
	root.SetErr(io.Discard)
	return root.ExecuteContext(ctx)
}

func TestStop_FinishesRecords(t *testing.T) {
	stoptest.Stop{Orders: 12, Takes: 2 * time.Second, Deleted: 10, Visible: 2}.Check(t, execute)
}

func TestUnusableQueue_CommandFails(t *testing.T) { stoptest.Unusable(t, execute) }
