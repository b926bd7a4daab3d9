package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.uber.org/fx"
	"go.uber.org/goleak"

	"github.com/sqsbatch/sqsbatch/examples/lifecycle/internal/stoptest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T, q *stoptest.Queue) *fx.App {
	t.Helper()
	app := fx.New(application(q.Config), fx.NopLogger)
	starting, cancel := context.WithTimeout(t.Context(), app.StartTimeout())
	defer cancel() // as App.Run does
	if err := app.Start(starting); err != nil {
		t.Fatal(err)
	}
	return app
}

func stop(app *fx.App, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return app.Stop(ctx)
}

func TestStop_FinishesRecords(t *testing.T) {
	stoptest.Run(t, 12, func(t *testing.T, q *stoptest.Queue) {
		app := start(t, q)
		time.Sleep(time.Second)
		q.RequireStop(2*time.Second, func() error { return stop(app, app.StopTimeout()) })
		q.RequireMessages(10, 2)
	})
}

// fx waits for no hook when its time is over: the process would end here.
func TestStop_TimeoutTooShort_FxDoesNotWait(t *testing.T) {
	stoptest.Run(t, 12, func(t *testing.T, q *stoptest.Queue) {
		app := start(t, q)
		time.Sleep(time.Second)
		q.RequireStop(time.Second, func() error {
			if err := stop(app, time.Second); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Stop returned %v", err)
			}
			return nil
		})
		time.Sleep(time.Second) // a process that is still there releases what it has cancelled
		q.RequireMessages(0, 12)
	})
}

// In real time: to wait for signals starts a goroutine that stays.
func TestUnusableQueue_EndsWithStatus1(t *testing.T) {
	q := stoptest.New(t, 0)
	q.Config.Poll.Queues[0] += "-2"
	app := start(t, q)
	if end := <-app.Wait(); end.ExitCode != 1 {
		t.Errorf("the exit status is %d, want 1", end.ExitCode)
	}
	if err := stop(app, app.StopTimeout()); err != nil {
		t.Error(err)
	}
}
