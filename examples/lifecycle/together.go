package main

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
)

// together is withWorker with a worker that ends at the same moment as the poller: until ctx
// ends or one of the two fails.
func together(ctx context.Context, cfg handler.Config) error {
	jobs := make(chan job)
	poller, err := handler.NewPoller(batch.JSON(handOrStop(jobs)), cfg)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return poller.Run(ctx) })
	group.Go(func() error { return workUntil(ctx, jobs) })
	return group.Wait()
}

// handOrStop returns the handler: it does not wait for a worker that may have ended.
func handOrStop(jobs chan<- job) func(context.Context, Order) error {
	return func(ctx context.Context, o Order) error {
		done := make(chan error, 1)
		select {
		case jobs <- job{ctx, o, done}:
			return <-done // the worker answers for each job that it takes
		case <-batch.Stopping(ctx):
			return batch.ErrStopped
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// workUntil does one job at a time until ctx ends, and finishes the one that it does then.
func workUntil(ctx context.Context, jobs <-chan job) error {
	for {
		select {
		case j := <-jobs:
			j.done <- ship(j.ctx, j.order)
		case <-ctx.Done():
			return nil
		}
	}
}
