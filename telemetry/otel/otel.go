// Package otel makes OpenTelemetry spans and metrics of records, on Lambda and in
// containers. It follows the semantic conventions for messaging systems:
//
//	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter))
//	handler.RunWith(batch.JSON(shipOrder), handler.Config{
//		Hooks: otel.New(otel.Config{TracerProvider: provider, Flush: provider.ForceFlush}).Hooks(),
//	})
//
// Each record that is handled has a span "process QUEUE" of kind CONSUMER. The span lasts
// from the call of the handler until it returns or is abandoned. It is in the handler's
// context, so that the handler's own spans are its children. It links to the span that sent
// the message, by the W3C headers in the message attributes ([Inject] writes them), or by
// AWS's AWSTraceHeader.
//
// On Lambda, a span of the same name for the batch is the parent of the records' spans, and
// belongs to the invocation's trace (see [Invocation]). In a container, the records of a
// FIFO group that are handled one after another have such a parent, too. Any other record
// in a container has only its own span, which begins a trace.
//
// A record that failed has status Error, error.type, and an exception event with the
// error's text and the stack of a panic, but never with the body. Its span is sent when the
// batch is settled, since only then is it known whether the record went to the dead-letter
// queue, and when it comes back. The span's end is the time when the handler was done.
// Records that were not handled (not started, or skipped in their FIFO group) have no span.
// The batch's span has an event sqsbatch.record for each of them.
//
// docs/observability/traces.md lists attributes and metrics. The package depends on the API
// of OpenTelemetry, not on an SDK. Without an SDK it makes nothing.
package otel

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/sqsbatch/sqsbatch/batch"
	adapter "github.com/sqsbatch/sqsbatch/telemetry/internal"
)

// Config configures the spans and metrics. The zero value uses the global providers.
type Config struct {
	// TracerProvider makes the spans. Defaults to the global one.
	TracerProvider trace.TracerProvider

	// MeterProvider makes the metrics. Defaults to the global one.
	MeterProvider metric.MeterProvider

	// Propagator reads the sender's context from a record's message attributes, and writes
	// it in [Instrumentation.Inject]. Defaults to W3C trace context and baggage.
	Propagator propagation.TextMapPropagator

	// SenderAsParent makes a record's span a child of the sender's span, and so a part of the
	// sender's trace, which may have ended days ago. It has an effect on every record of a
	// standard queue in a container, and on Lambda on the record of a batch of one. The span
	// also links to the sender, and to the span that would have been the parent. Defaults to
	// false: links only, as the conventions recommend.
	SenderAsParent bool

	// Invocation chooses how the spans belong to the trace of the Lambda invocation.
	// Defaults to InvocationSampled.
	Invocation Invocation

	// Flush sends the SDK's buffered data: the ForceFlush method of the tracer provider, or a
	// function that calls it and the meter provider's. It is called at the end of each
	// invocation and of handler.Poll, as batch.Hooks describes. Defaults to none: on Lambda,
	// spans then wait for the next invocation, or are lost.
	//
	// Flush never runs twice at the same time. Invocations that end meanwhile share the next
	// call, whose context lasts as long as one of them waits.
	Flush func(context.Context) error
}

// Invocation chooses how the batch's span belongs to the Lambda invocation's trace (X-Ray's
// header). If the context already has a span, such as otellambda's, that is the parent in
// any case.
type Invocation uint8

const (
	// InvocationSampled continues the invocation's trace if Lambda sampled it. Otherwise the
	// batch's span starts a new trace and links to the invocation's. Without active tracing no
	// invocation is sampled, and an SDK that follows this decision (as by default) would make
	// no span at all.
	InvocationSampled Invocation = iota
	// InvocationContinued continues the invocation's trace, sampled or not. Use it if spans
	// are sent to AWS X-Ray.
	InvocationContinued
	// InvocationLinked always starts a new trace. Use it if your backend does not get X-Ray's
	// spans: the parent would be missing there.
	InvocationLinked
)

// Instrumentation makes spans and metrics, see [Instrumentation.Hooks]. It is safe for
// concurrent use.
type Instrumentation struct {
	opts    Config
	tracer  trace.Tracer
	metrics metrics
	flushes *adapter.Calls // calls of Config.Flush, shared by invocations that end at the same time
}

const scope = "github.com/sqsbatch/sqsbatch/telemetry/otel"

// New returns an Instrumentation. Errors of the SDK go to the error handler of
// OpenTelemetry (otel.SetErrorHandler).
func New(opts Config) *Instrumentation {
	if opts.TracerProvider == nil {
		opts.TracerProvider = otel.GetTracerProvider()
	}
	if opts.MeterProvider == nil {
		opts.MeterProvider = otel.GetMeterProvider()
	}
	if opts.Propagator == nil {
		opts.Propagator = w3c
	}
	h := &Instrumentation{
		opts:   opts,
		tracer: opts.TracerProvider.Tracer(scope, trace.WithSchemaURL(semconv.SchemaURL)),
	}
	h.flushes = adapter.NewCalls(h.flush)
	h.metrics.init(opts.MeterProvider.Meter(scope, metric.WithSchemaURL(semconv.SchemaURL)))
	return h
}

// Hooks returns the hooks that make spans and metrics, for handler.Config.Hooks. Their Flush
// calls Config.Flush.
func (h *Instrumentation) Hooks() batch.Hooks {
	return batch.Hooks{
		BatchContext: h.batchContext, RecordContext: h.recordContext, RecordFinished: h.recordFinished, BatchSettled: h.batchSettled,
		Called: h.called, Warned: h.warned, Flush: h.flushed,
	}
}

// flushed calls Config.Flush and waits until it returns or ctx ends. If an earlier call still
// runs, all waiting flushes share the next call, which includes all spans made before. If the
// earlier call exceeds its time, nothing is flushed. Errors go to the error handler of
// OpenTelemetry.
func (h *Instrumentation) flushed(ctx context.Context) {
	if h.opts.Flush != nil && !h.flushes.Do(ctx) {
		handle(errOverdue)
	}
}

var errOverdue = errors.New("sqsbatch: Config.Flush is not called: an earlier call did not return in time")

func (h *Instrumentation) flush(ctx context.Context) {
	err := batch.ErrGoexit
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("it panicked: %v", v)
		}
		if err != nil {
			handle(fmt.Errorf("sqsbatch: Config.Flush: %w", err))
		}
	}()
	err = h.opts.Flush(ctx)
}
