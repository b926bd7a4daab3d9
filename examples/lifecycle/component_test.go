package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

func newConsumer(t *testing.T, q *testQueue) *Consumer {
	t.Helper()
	c, err := NewConsumer(q.Config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestComponent_StartsContextEnds(t *testing.T) {
	inVirtualTime(t, 12, func(t *testing.T, q *testQueue) {
		c := newConsumer(t, q)
		starting, cancel := context.WithCancel(t.Context())
		if err := c.Start(starting); err != nil {
			t.Fatal(err)
		}
		cancel() // it was for the start only
		time.Sleep(time.Second)
		q.requireStop(2*time.Second, func() error { return c.Stop(t.Context()) })
		q.requireMessages(10, 2)
		if err := <-c.Ended(); err != nil {
			t.Error(err)
		}
	})
}

func TestComponent_StopsContextEnds_RecordsAreReleased(t *testing.T) {
	inVirtualTime(t, 12, func(t *testing.T, q *testQueue) {
		c := newConsumer(t, q)
		if err := c.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // ten orders are being shipped
		q.requireStop(time.Second, func() error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := c.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Stop returned %v", err)
			}
			return <-c.Ended()
		})
		q.requireMessages(0, 12)
	})
}

func TestComponent_SQSDoesNotAnswer(t *testing.T) {
	inVirtualTime(t, 0, func(t *testing.T, q *testQueue) {
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
