package runner_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/runner"
)

// BenchmarkEngine runs n records by a no-op handler, ten at a time, each under
// a deadline: by the engine, and by what one would write without it. The
// engine also contains panics, abandons what hangs, keeps FIFO order and
// reports an outcome per record; the opponent does none of that.
func BenchmarkEngine(b *testing.B) {
	for _, n := range []int{10, 1000} {
		records := make([]batch.Record, n)
		for i := range records {
			records[i] = batch.Record{MessageID: fmt.Sprint("m-", i), QueueARN: "arn:aws:sqs:eu-west-1:1:q"}
		}
		b.Run(fmt.Sprintf("n=%d/impl=sqsbatch", n), func(b *testing.B) {
			benchEngine(b, records, config{})
		})
		b.Run(fmt.Sprintf("n=%d/impl=sqsbatch-record-timeout", n), func(b *testing.B) {
			benchEngine(b, records, config{RecordTimeout: 5 * time.Second})
		})
		b.Run(fmt.Sprintf("n=%d/impl=errgroup", n), func(b *testing.B) {
			handle := func(context.Context, batch.Record) error { return nil }
			b.ReportAllocs()
			for b.Loop() {
				ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
				errs := make([]error, n)
				var g errgroup.Group
				g.SetLimit(10)
				for i := range records {
					g.Go(func() error {
						ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
						defer cancel()
						errs[i] = handle(ctx, records[i])
						return nil
					})
				}
				g.Wait()
				cancel()
			}
		})
	}
}

func benchEngine(b *testing.B, records []batch.Record, cfg config) {
	engine := newEngine(b, cfg, func(context.Context, batch.Record) error { return nil })
	b.ReportAllocs()
	for b.Loop() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		engine.Run(ctx, records, runner.Options{Times: engine.Times(ctx)})
		cancel()
	}
}
