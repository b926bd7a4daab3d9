package otel_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/telemetry/otel"
)

// BenchmarkRecord runs batches of succeeding records by the engine, as package
// handler does: without the hook, with it and no SDK, with an SDK that samples
// none of them, with one that makes every span and metric, and with links to
// senders beside that. The opponent is the span that one would make by hand in
// the handler, with the attributes that the conventions require. Spans go to a batch processor whose exporter drops them. Figures
// are for a record.
func BenchmarkRecord(b *testing.B) {
	none := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample()))
	all := sdktrace.NewTracerProvider(sdktrace.WithBatcher(dropped{}, sdktrace.WithMaxQueueSize(1<<16)))
	defer func() { _ = all.Shutdown(context.Background()) }()
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
	hook := func(t trace.TracerProvider) *otel.Hook {
		return otel.New(otel.Options{TracerProvider: t, MeterProvider: meters})
	}
	nothing := otel.New(otel.Options{TracerProvider: tracenoop.NewTracerProvider(), MeterProvider: noop.NewMeterProvider()})
	ok := func(context.Context, batch.Record) error { return nil }
	byHand := func(ctx context.Context, r batch.Record) error {
		_, span := all.Tracer("by hand").Start(ctx, "process orders", trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(
			semconv.MessagingSystemAWSSQS, semconv.MessagingOperationName("process"), semconv.MessagingOperationTypeProcess,
			semconv.MessagingDestinationName("orders"), semconv.MessagingMessageID(r.MessageID)))
		defer span.End()
		return ok(ctx, r)
	}
	for _, n := range []int{1, 10, 1000} {
		for _, c := range []struct {
			name   string
			hooks  []any
			handle batch.HandlerFunc
			sent   bool
		}{
			{"none", nil, ok, false},
			{"by-hand", nil, byHand, false},
			{"no-sdk", []any{nothing}, ok, false},
			{"not-sampled", []any{hook(none)}, ok, false},
			{"sampled", []any{hook(all)}, ok, false},
			{"sampled-links", []any{hook(all)}, ok, true},
		} {
			b.Run(fmt.Sprintf("n=%d/impl=%s", n, c.name), func(b *testing.B) {
				benchRecords(b, n, c.hooks, c.handle, c.sent)
			})
		}
	}
}

func benchRecords(b *testing.B, n int, hooks []any, handle batch.HandlerFunc, sent bool) {
	engine, err := runner.New(handle, batch.Config{Hooks: hooks})
	if err != nil {
		b.Fatal(err)
	}
	records := make([]batch.Record, n)
	for i := range records {
		records[i] = batch.Record{MessageID: fmt.Sprint("m-", i), QueueARN: "arn:aws:sqs:eu-west-1:1:orders", Attempt: 1, SentAt: time.Now()}
		if sent {
			records[i].MessageAttributes = map[string]batch.MessageAttribute{"traceparent": {
				DataType: "String", StringValue: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}}
		}
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		info := batch.BatchInfo{Records: n, QueueARN: records[0].QueueARN, Started: time.Now(), Times: engine.Times(ctx)}
		ctx = engine.Hooks.BatchContext(ctx, info, records)
		engine.Hooks.BatchStarted(ctx, info)
		engine.Hooks.BatchSettled(ctx, info, engine.Run(ctx, records, info.Times, nil))
		cancel()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/record")
}

// dropped is an exporter.
type dropped struct{}

func (dropped) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return nil }
func (dropped) Shutdown(context.Context) error                             { return nil }
