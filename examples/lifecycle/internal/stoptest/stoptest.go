// Package stoptest starts the programs of this module on an emulated queue in virtual
// time, and checks how they stop.
package stoptest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
	"github.com/sqsbatch/sqsbatch/test/testqueue"
)

// Queue is a queue for a program.
type Queue struct {
	*testqueue.Queue
	Config handler.Config // of the program, which handles 10 records at a time

	t *testing.T
}

// New returns a queue with n orders.
func New(t *testing.T, n int) *Queue {
	q := &Queue{Queue: testqueue.New(t, testqueue.Standard), t: t}
	for i := range n {
		q.Send(fmt.Sprintf(`{"id":"o-%d"}`, i))
	}
	q.Config = handler.Config{
		SQS: q.Client, Logger: slog.New(slog.DiscardHandler),
		Poll: handler.PollConfig{Queues: []string{q.URL}},
	}
	return q
}

// Run calls test in virtual time with a queue that has n orders.
func Run(t *testing.T, n int, test func(t *testing.T, q *Queue)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, New(t, n)) })
}

// Stop says how a program that has so many orders stops, a second after its start.
type Stop struct {
	Orders           int
	Takes            time.Duration
	Deleted, Visible int // orders
}

// Check fails the test unless the program run stops like that.
func (s Stop) Check(t *testing.T, run func(context.Context, handler.Config) error) {
	t.Helper()
	Run(t, s.Orders, func(t *testing.T, q *Queue) {
		stop := Start(t, func(ctx context.Context) error { return run(ctx, q.Config) })
		time.Sleep(time.Second)
		q.RequireStop(s.Takes, stop)
		q.RequireMessages(s.Deleted, s.Visible)
	})
}

// Unusable fails the test unless the program run ends with an error of its configuration
// when there is no such queue.
func Unusable(t *testing.T, run func(context.Context, handler.Config) error) {
	t.Helper()
	Run(t, 0, func(t *testing.T, q *Queue) {
		q.Config.Poll.Queues[0] += "-2"
		var wrong *longpoll.ConfigError
		if err := run(t.Context(), q.Config); !errors.As(err, &wrong) {
			t.Errorf("it returned %v", err)
		}
	})
}

// Start calls run, a whole program. stop ends run's context and returns its error.
func Start(t *testing.T, run func(context.Context) error) (stop func() error) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	return func() error { cancel(); return <-ended }
}

// RequireStop calls stop, which must take want, within half a second.
func (q *Queue) RequireStop(want time.Duration, stop func() error) {
	q.t.Helper()
	began := time.Now()
	if err := stop(); err != nil {
		q.t.Error(err)
	}
	if took := time.Since(began); took < want || took > want+500*time.Millisecond {
		q.t.Errorf("the stop took %v, want %v", took, want)
	}
}

// RequireMessages fails the test unless so many messages have been handled and deleted, and
// so many are visible to others. None may be lost or in flight.
func (q *Queue) RequireMessages(deleted, visible int) {
	q.t.Helper()
	gone := len(q.Events(sqs.Deleted))
	for _, s := range q.Server().Snapshot() {
		if s.URL == q.URL && (gone != deleted || s.Visible != visible || s.InFlight != 0) {
			q.t.Errorf("%d deleted, %d visible, %d in flight, want %d, %d and 0", gone, s.Visible, s.InFlight, deleted, visible)
		}
	}
}
