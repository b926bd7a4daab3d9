package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/examples/lifecycle/internal/stoptest"
)

func newConsumer(t *testing.T, q *stoptest.Queue) *Consumer {
	t.Helper()
	c, err := New(q.Config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestStop_FinishesRecords(t *testing.T) {
	stoptest.Run(t, 12, func(t *testing.T, q *stoptest.Queue) {
		c := newConsumer(t, q)
		starting, cancel := context.WithCancel(t.Context())
		if err := c.Start(starting); err != nil {
			t.Fatal(err)
		}
		cancel() // it was for the start only
		time.Sleep(time.Second)
		q.RequireStop(2*time.Second, func() error { return c.Stop(t.Context()) })
		q.RequireMessages(10, 2)
		if err := <-c.Ended(); err != nil {
			t.Error(err)
		}
	})
}

func TestStop_ContextEnds_RecordsAreReleased(t *testing.T) {
	stoptest.Run(t, 12, func(t *testing.T, q *stoptest.Queue) {
		c := newConsumer(t, q)
		if err := c.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // ten orders are being shipped
		q.RequireStop(time.Second, func() error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := c.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Stop returned %v", err)
			}
			return <-c.Ended()
		})
		q.RequireMessages(0, 12)
	})
}

func TestStart_UnusableQueue(t *testing.T) { stoptest.Unusable(t, run) }

func TestStart_SQSDoesNotAnswer(t *testing.T) {
	stoptest.Run(t, 0, func(t *testing.T, q *stoptest.Queue) {
		if err := q.Server().Inject(sqs.Fault{Kind: sqs.Failure, Operation: "ReceiveMessage", Times: 1000}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		c := newConsumer(t, q)
		if err := c.Start(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Start returned %v", err)
		}
		if err := <-c.Ended(); err != nil {
			t.Error(err)
		}
	})
}

func TestProgram_StopsByItsContext(t *testing.T) {
	stoptest.Stop{Orders: 12, Takes: 2 * time.Second, Deleted: 10, Visible: 2}.Check(t, run)
}
