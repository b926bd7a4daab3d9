package main

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
)

// job is a record on its way to the worker.
type job struct {
	ctx   context.Context // the record's
	order Order
	done  chan<- error
}

// withWorker polls, and hands records to a worker that ends after the poller. It returns when
// ctx ends or polling fails.
func withWorker(ctx context.Context, cfg handler.Config) error {
	jobs := make(chan job)
	poller, err := handler.NewPoller(batch.JSON(handTo(jobs)), cfg)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(jobs) // the worker ends when the poller has drained
		return poller.Run(ctx)
	})
	group.Go(func() error { return work(jobs) })
	return group.Wait()
}

// handTo returns the handler: it waits until the worker takes the record and has done it.
func handTo(jobs chan<- job) func(context.Context, Order) error {
	return func(ctx context.Context, o Order) error {
		done := make(chan error, 1)
		select {
		case jobs <- job{ctx, o, done}:
			return <-done // the worker answers for each job that it takes
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// work does one job at a time until there are no more.
func work(jobs <-chan job) error {
	for j := range jobs {
		j.done <- ship(j.ctx, j.order)
	}
	return nil
}
