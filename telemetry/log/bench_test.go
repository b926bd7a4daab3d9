package log_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/telemetry/log"
)

// What the log adds to records that succeed, with the line of their batch or,
// in a container, where each is a batch, that of a minute: compare with "none".
func BenchmarkSucceeded(b *testing.B) {
	out := slog.New(slog.NewJSONHandler(io.Discard, nil))
	warnings := slog.New(slog.NewJSONHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelWarn}))
	for _, c := range []struct {
		name    string
		records int
		hooks   []any
	}{
		{"invocation/records=10/none", 10, nil},
		{"invocation/records=10/log", 10, []any{log.New(out, log.Options{})}},
		{"invocation/records=10/log at WARN", 10, []any{log.New(warnings, log.Options{})}},
		{"invocation/records=1/none", 1, nil},
		{"invocation/records=1/log", 1, []any{log.New(out, log.Options{})}},
		{"container/none", 1, nil},
		{"container/log", 1, []any{log.New(out, log.Options{Every: time.Minute})}},
	} {
		b.Run(c.name, func(b *testing.B) { run(b, c.hooks, c.records, nil) })
	}
}

// What a record that fails costs, with its line and without, in a storm.
func BenchmarkFailed(b *testing.B) {
	out := slog.New(slog.NewJSONHandler(io.Discard, nil))
	err := fmt.Errorf("ship: %w", context.DeadlineExceeded)
	b.Run("none", func(b *testing.B) { run(b, nil, 10, err) })
	b.Run("log", func(b *testing.B) { run(b, []any{log.New(out, log.Options{})}, 10, err) })
	b.Run("storm", func(b *testing.B) { run(b, []any{log.New(out, log.Options{Every: time.Hour})}, 10, err) })
}

// run hands batches to an engine whose handler returns err.
func run(b *testing.B, hooks []any, records int, err error) {
	engine, bad := runner.New(batch.HandlerFunc(func(context.Context, batch.Record) error { return err }), batch.Config{Hooks: hooks})
	if bad != nil {
		b.Fatal(bad)
	}
	list := make([]batch.Record, records)
	for i := range list {
		list[i] = batch.Record{MessageID: fmt.Sprint(i), QueueARN: ordersARN, Attempt: 1, SentAt: time.Now(), FirstReceivedAt: time.Now()}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	b.ReportAllocs()
	for b.Loop() {
		info := batch.BatchInfo{Records: records, QueueARN: ordersARN, Started: time.Now(), Times: engine.Times(ctx)}
		results := engine.Run(ctx, list, info.Times, nil)
		engine.Hooks.BatchSettled(ctx, info, results)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*records), "ns/record")
}
