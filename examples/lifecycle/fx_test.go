package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.uber.org/fx"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func startFX(t *testing.T, q *testQueue) *fx.App {
	t.Helper()
	app := fx.New(application(q.Config), fx.NopLogger)
	starting, cancel := context.WithTimeout(t.Context(), app.StartTimeout())
	defer cancel() // as App.Run does
	if err := app.Start(starting); err != nil {
		t.Fatal(err)
	}
	return app
}

func stopFX(app *fx.App, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return app.Stop(ctx)
}

func TestFX_FinishesRecords(t *testing.T) {
	inVirtualTime(t, 12, func(t *testing.T, q *testQueue) {
		app := startFX(t, q)
		time.Sleep(time.Second)
		q.requireStop(2*time.Second, func() error { return stopFX(app, app.StopTimeout()) })
		q.requireMessages(10, 2)
	})
}

// fx waits for no hook when its time is over: the process would end here.
func TestFX_TimeoutTooShort_FxDoesNotWait(t *testing.T) {
	inVirtualTime(t, 12, func(t *testing.T, q *testQueue) {
		app := startFX(t, q)
		time.Sleep(time.Second)
		q.requireStop(time.Second, func() error {
			if err := stopFX(app, time.Second); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Stop returned %v", err)
			}
			return nil
		})
		time.Sleep(time.Second) // a process that is still there releases what it has cancelled
		q.requireMessages(0, 12)
	})
}

// In real time: to wait for signals starts a goroutine that stays.
func TestFX_UnusableQueue_EndsWithStatus1(t *testing.T) {
	q := newQueue(t, 0)
	q.Config.Poll.Queues[0] += "-2"
	app := startFX(t, q)
	if end := <-app.Wait(); end.ExitCode != 1 {
		t.Errorf("the exit status is %d, want 1", end.ExitCode)
	}
	if err := stopFX(app, app.StopTimeout()); err != nil {
		t.Error(err)
	}
}
