package cloudwatch_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/telemetry/cloudwatch"
)

// BenchmarkRecord runs batches of succeeding records by the engine, as package
// handler does: without the hook, and with it. The figures are for a record; the
// call of a minute is BenchmarkPeriod's.
func BenchmarkRecord(b *testing.B) {
	for _, n := range []int{1, 10, 1000} {
		for _, name := range []string{"none", "cloudwatch"} {
			b.Run(fmt.Sprintf("n=%d/impl=%s", n, name), func(b *testing.B) {
				var hooks []any
				if name != "none" {
					f := &fake{t: b}
					h := f.hook(cloudwatch.Options{Interval: time.Hour})
					defer h.Flush(context.Background())
					hooks = []any{h}
				}
				engine, err := runner.New(batch.HandlerFunc(func(context.Context, batch.Record) error { return nil }), batch.Config{Hooks: hooks})
				if err != nil {
					b.Fatal(err)
				}
				records := make([]batch.Record, n)
				for i := range records {
					records[i] = batch.Record{MessageID: fmt.Sprint("m-", i), QueueARN: orders, Attempt: 1, SentAt: time.Now().Add(-time.Duration(i) * time.Millisecond)}
				}
				b.ReportAllocs()
				for b.Loop() {
					ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
					info := batch.BatchInfo{Records: n, QueueARN: orders, Started: time.Now(), Times: engine.Times(ctx)}
					engine.Hooks.BatchSettled(ctx, info, engine.Run(ctx, records, info.Times, nil))
					cancel()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/record")
			})
		}
	}
}

// BenchmarkPeriod is what a minute of a busy queue costs at its end: the data,
// their encoding and compression, and the client's part of the call.
func BenchmarkPeriod(b *testing.B) {
	f := &fake{t: b}
	h := f.hook(cloudwatch.Options{Interval: time.Hour})
	took := make([]time.Duration, 10_000)
	for i := range took {
		took[i] = time.Duration(i*i) * time.Microsecond
	}
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		settle(h, orders, took...)
		b.StartTimer()
		h.Flush(context.Background())
	}
	b.ReportMetric(float64(f.all()[0].bytes), "bytes/call")
}
