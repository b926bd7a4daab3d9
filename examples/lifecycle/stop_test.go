package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
	"github.com/sqsbatch/sqsbatch/test/testqueue"
)

// testQueue is a queue for a program.
type testQueue struct {
	*testqueue.Queue
	Config handler.Config // of the program, which handles 10 records at a time

	t *testing.T
}

// newQueue returns a queue with n orders.
func newQueue(t *testing.T, n int) *testQueue {
	q := &testQueue{Queue: testqueue.New(t, testqueue.Standard), t: t}
	for i := range n {
		q.Send(fmt.Sprintf(`{"id":"o-%d"}`, i))
	}
	q.Config = handler.Config{
		SQS: q.Client, Logger: slog.New(slog.DiscardHandler),
		Poll: handler.PollConfig{Queues: []string{q.URL}},
	}
	return q
}

// inVirtualTime calls test in virtual time with a queue that has n orders.
func inVirtualTime(t *testing.T, n int, test func(t *testing.T, q *testQueue)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newQueue(t, n)) })
}

// start calls run, a whole program. stop ends run's context and returns its error.
func start(t *testing.T, run func(context.Context) error) (stop func() error) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	return func() error { cancel(); return <-ended }
}

// requireStop calls stop, which must take want, within half a second.
func (q *testQueue) requireStop(want time.Duration, stop func() error) {
	q.t.Helper()
	began := time.Now()
	if err := stop(); err != nil {
		q.t.Error(err)
	}
	if took := time.Since(began); took < want || took > want+500*time.Millisecond {
		q.t.Errorf("the stop took %v, want %v", took, want)
	}
}

// requireMessages fails the test unless so many messages have been handled and deleted, and
// so many are visible to others. None may be lost or in flight.
func (q *testQueue) requireMessages(deleted, visible int) {
	q.t.Helper()
	gone := len(q.Events(sqs.Deleted))
	for _, s := range q.Server().Snapshot() {
		if s.URL == q.URL && (gone != deleted || s.Visible != visible || s.InFlight != 0) {
			q.t.Errorf("%d deleted, %d visible, %d in flight, want %d, %d and 0", gone, s.Visible, s.InFlight, deleted, visible)
		}
	}
}

type program = func(context.Context, handler.Config) error

// A stop begins a second after the start. By default ten orders are being shipped then, and
// the others wait.
func TestStop_FinishesRecords(t *testing.T) {
	for name, c := range map[string]struct {
		run              program
		orders           int
		takes            time.Duration
		deleted, visible int
	}{
		"cobra":     {executeCobra, 12, 2 * time.Second, 10, 2},
		"component": {runComponent, 12, 2 * time.Second, 10, 2},
		// The worker finishes what handlers wait to hand over: three orders, one after another.
		"worker": {withWorker, 3, 8 * time.Second, 3, 0},
		// More than the drain has time for: what is left is released.
		"worker, more work than time": {withWorker, 12, 24 * time.Second, 8, 4},
		// The worker does one order, and eleven wait for it. The stop takes as long as that one.
		"together": {together, 12, 2 * time.Second, 1, 11},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, c.orders, func(t *testing.T, q *testQueue) {
				stop := start(t, func(ctx context.Context) error { return c.run(ctx, q.Config) })
				time.Sleep(time.Second)
				q.requireStop(c.takes, stop)
				q.requireMessages(c.deleted, c.visible)
			})
		})
	}
}

func executeCobra(ctx context.Context, cfg handler.Config) error {
	queue := cfg.Poll.Queues[0]
	cfg.Poll.Queues = nil
	root := command(cfg)
	root.SetArgs([]string{"consume", "--queue", queue, "--concurrency", "10"})
	root.SetErr(io.Discard)
	return root.ExecuteContext(ctx)
}

func TestUnusableQueue_ProgramEnds(t *testing.T) {
	for name, run := range map[string]program{
		"cobra": executeCobra, "component": runComponent,
		"http": func(ctx context.Context, cfg handler.Config) error { return serveHTTP(ctx, bufconn.Listen(1<<16), cfg) },
		"grpc": func(ctx context.Context, cfg handler.Config) error {
			return serveGRPC(ctx, bufconn.Listen(1<<16), grpc.NewServer(), cfg)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, 0, func(t *testing.T, q *testQueue) {
				q.Config.Poll.Queues[0] += "-2"
				var wrong *longpoll.ConfigError
				if err := run(t.Context(), q.Config); !errors.As(err, &wrong) {
					t.Errorf("it returned %v", err)
				}
			})
		})
	}
}
