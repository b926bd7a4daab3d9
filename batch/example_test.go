package batch_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

func ExampleJSON() {
	type order struct{ ID string }
	ship := batch.JSON(func(ctx context.Context, o order) error {
		r, _ := batch.RecordFrom(ctx)
		fmt.Println(o.ID, "at attempt", r.Attempt)
		return nil
	})
	r := batch.Record{Body: `{"ID":"o-1"}`, Attempt: 2}
	fmt.Println(ship.Handle(batch.WithRecord(context.Background(), r), r))
	fmt.Println(ship.Handle(context.Background(), batch.Record{Body: `{"ID":7}`}))
	// Output:
	// o-1 at attempt 2
	// <nil>
	// malformed body: field "ID": a JSON number does not go into string, at offset 6
}

func ExampleChain() {
	timed := func(next batch.Handler) batch.Handler {
		return batch.HandlerFunc(func(ctx context.Context, r batch.Record) error {
			fmt.Println("before", r.MessageID)
			defer fmt.Println("after", r.MessageID)
			return next.Handle(ctx, r)
		})
	}
	h := batch.Chain(batch.HandlerFunc(func(context.Context, batch.Record) error {
		fmt.Println("handled")
		return nil
	}), timed)
	_ = h.Handle(context.Background(), batch.Record{MessageID: "m-1"})
	// Output:
	// before m-1
	// handled
	// after m-1
}

func ExamplePermanent() {
	err := batch.Permanent(errors.New("unknown article"))
	fmt.Println(err, batch.VerdictOf(err).Permanent)
	// Output: unknown article true
}

func ExampleRetryAfter() {
	err := fmt.Errorf("reserve: %w", batch.RetryAfter(30*time.Second, errors.New("too many requests")))
	fmt.Println(err, batch.VerdictOf(err).After)
	// Output: reserve: too many requests 30s
}

func ExampleAbort() {
	// The carrier is down: the records that were not started would fail, too.
	err := batch.Abort(2*time.Minute, errors.New("carrier: connection refused"))
	v := batch.VerdictOf(err)
	fmt.Println(v.Aborts, v.After)
	// Output: true 2m0s
}

func ExampleStopping() {
	jobs := make(chan string)
	// A handler that hands its record to a worker gives it back when the process stops.
	h := batch.Text(func(ctx context.Context, body string) error {
		select {
		case jobs <- body:
			return nil
		case <-batch.Stopping(ctx):
			return batch.ErrStopped
		}
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		fmt.Println(<-jobs)
	}()
	fmt.Println(h.Handle(context.Background(), batch.Record{Body: "resize"}))
	<-done
	// Unordered output:
	// resize
	// <nil>
}

func ExampleFirstOf() {
	notFound := errors.New("not found")
	classify := batch.FirstOf(
		func(err error) error {
			if errors.Is(err, notFound) {
				return batch.Permanent(err)
			}
			return err
		},
		func(err error) error {
			if errors.Is(err, context.DeadlineExceeded) {
				return batch.RetryAfter(time.Minute, err)
			}
			return err
		},
	)
	fmt.Println(batch.VerdictOf(classify(notFound)).Permanent, batch.VerdictOf(classify(context.DeadlineExceeded)).After)
	// Output: true 1m0s
}

// Hooks of one's own, next to those of a package of telemetry/.
func ExampleJoinHooks() {
	spans := batch.Hooks{RecordContext: func(ctx context.Context, r *batch.Record) context.Context {
		fmt.Println("starting", r.MessageID)
		return ctx // with a span, or a logger that has the id
	}}
	counts := batch.Hooks{RecordFinished: func(_ context.Context, r batch.Result) {
		fmt.Println(r.Record.MessageID, r.Outcome)
	}}
	hooks := batch.JoinHooks(spans, counts) // handler.Config{Hooks: hooks}

	r := batch.Record{MessageID: "m-1"}
	ctx := hooks.RecordContext(context.Background(), &r)
	hooks.RecordFinished(ctx, batch.Result{Record: &r, Outcome: batch.Succeeded})
	// Output:
	// starting m-1
	// m-1 succeeded
}

// A body that is no JSON.
func ExampleText() {
	h := batch.Text(func(_ context.Context, path string) error {
		fmt.Println("importing", path)
		return nil
	})
	fmt.Println(h.Handle(context.Background(), batch.Record{Body: "2026/11/orders.csv"}))
	// Output:
	// importing 2026/11/orders.csv
	// <nil>
}
