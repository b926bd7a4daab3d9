package telemetry_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"testing"
	"time"

	awscloudwatch "github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/hooks"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/telemetry/cloudwatch"
	"github.com/sqsbatch/sqsbatch/telemetry/emf"
	"github.com/sqsbatch/sqsbatch/telemetry/log"
	"github.com/sqsbatch/sqsbatch/telemetry/otel"
	"github.com/sqsbatch/sqsbatch/telemetry/prometheus"
)

// BenchmarkRecord compares the adapters: batches of records by the engine, with and
// without each hook. A hook that sums up has an interval of an hour, so the figures do not
// contain a report. Only emf writes its line for each batch, as it does on Lambda. by-hand is
// the span that a handler would begin and end itself.
func BenchmarkRecord(b *testing.B) {
	spans := sdktrace.NewTracerProvider(sdktrace.WithBatcher(dropped{}, sdktrace.WithMaxQueueSize(1<<16)))
	defer func() { _ = spans.Shutdown(context.Background()) }()
	points := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
	lines := slog.New(slog.NewJSONHandler(io.Discard, nil))
	client := awscloudwatch.New(awscloudwatch.Options{Region: "eu-west-1", HTTPClient: unreachable{}})
	byHand := func(ctx context.Context, _ batch.Record) error {
		_, span := spans.Tracer("by hand").Start(ctx, "process orders", trace.WithSpanKind(trace.SpanKindConsumer))
		span.End()
		return nil
	}
	succeed := func(context.Context, batch.Record) error { return nil }
	fail := func(context.Context, batch.Record) error { return context.DeadlineExceeded }
	for _, c := range []struct {
		name   string
		handle batch.HandlerFunc
		hook   batch.Hooks
	}{
		{"none", succeed, batch.Hooks{}},
		{"log", succeed, log.New(lines, log.Config{})},
		{"log-a-minute", succeed, log.New(lines, log.Config{Every: time.Minute})},
		{"emf", succeed, flushed(emf.New(emf.Config{Writer: io.Discard, Interval: time.Hour}).Hooks())},
		{"cloudwatch", succeed, cloudwatch.New(cloudwatch.Config{Client: client, Interval: time.Hour}).Hooks()},
		{"prometheus", succeed, prometheus.New(prometheus.Config{}).Hooks()},
		{"by-hand", byHand, batch.Hooks{}},
		{"otel", succeed, otel.New(otel.Config{TracerProvider: spans, MeterProvider: points}).Hooks()},
		{"otel-without-sdk", succeed, otel.New(otel.Config{TracerProvider: tracenoop.NewTracerProvider(), MeterProvider: noop.NewMeterProvider()}).Hooks()},
		{"failed-none", fail, batch.Hooks{}},
		{"failed-log", fail, log.New(lines, log.Config{})},
		{"failed-log-storm", fail, log.New(lines, log.Config{Every: time.Hour})},
	} {
		for _, n := range []int{1, 10, 1000} {
			b.Run(fmt.Sprintf("n=%d/impl=%s", n, c.name), func(b *testing.B) { run(b, n, c.handle, c.hook) })
		}
	}
}

func run(b *testing.B, n int, handle batch.HandlerFunc, h batch.Hooks) {
	if h.Validate != nil {
		if err := h.Validate(); err != nil {
			b.Fatal(err)
		}
	}
	set := hooks.New(h)
	engine := runner.New(handle, runner.Config{}, set)
	records := make([]batch.Record, n)
	for i := range records {
		records[i] = batch.Record{MessageID: fmt.Sprint("m-", i), QueueARN: "arn:aws:sqs:eu-west-1:1:orders", Attempt: 1, SentAt: time.Now().Add(-time.Duration(i) * time.Millisecond)}
	}
	b.ReportAllocs()
	for b.Loop() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		times := engine.Times(ctx)
		info := batch.BatchInfo{Records: n, QueueARN: records[0].QueueARN, Started: time.Now(), Deadline: times.Deadline, Cutoff: times.Cutoff, SettleBy: times.SettleBy}
		ctx = set.BatchContext(ctx, info, records)
		set.BatchSettled(ctx, info, engine.Run(ctx, records, runner.Options{Times: times}))
		cancel()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/record")
}

// flushed are hooks that write the line of each batch, as at the end of an invocation.
func flushed(h batch.Hooks) batch.Hooks {
	settled := h.BatchSettled
	h.BatchSettled = func(ctx context.Context, info batch.BatchInfo, results []batch.Result) {
		settled(ctx, info, results)
		h.Flush(ctx)
	}
	return h
}

type dropped struct{}

func (dropped) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return nil }
func (dropped) Shutdown(context.Context) error                             { return nil }

// unreachable is CloudWatch, which no benchmark calls.
type unreachable struct{}

func (unreachable) Do(*http.Request) (*http.Response, error) { return nil, io.EOF }
