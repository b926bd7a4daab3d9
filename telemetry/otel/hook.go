package otel

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/sqsbatch/sqsbatch/internal/sharedcall"
)

// Options configures the spans and metrics. The zero value uses the global providers.
type Options struct {
	// TracerProvider makes the spans. Defaults to the global one.
	TracerProvider trace.TracerProvider

	// MeterProvider makes the metrics. Defaults to the global one.
	MeterProvider metric.MeterProvider

	// Propagator reads the sender's context from a record's message attributes, and writes
	// it in [Hook.Inject]. Defaults to W3C trace context and baggage.
	Propagator propagation.TextMapPropagator

	// SenderAsParent makes a record's span a child of the span that sent it, and so a part
	// of the sender's trace, which may have ended days ago. It has an effect on every
	// record of a standard queue in a container, and on Lambda on the record of a batch of
	// one. The span also links to the sender, and to the span that would have been its
	// parent. Defaults to false: links only, as the conventions advise.
	SenderAsParent bool

	// Invocation chooses how the spans belong to the trace of the Lambda invocation.
	// Defaults to InvocationSampled.
	Invocation Invocation

	// Flush sends the data that the SDK buffers: the ForceFlush method of its tracer
	// provider, or a function that calls it and the meter provider's. It is called at the
	// end of each invocation and of handler.Poll, as batch.FlushHook describes. Defaults to
	// nothing: on Lambda spans then wait for the next invocation, or are lost.
	//
	// It never runs twice at the same time. Invocations that end while it runs share the
	// next call, whose context lasts as long as one of them waits.
	Flush func(context.Context) error
}

// Invocation chooses how the batch's span belongs to the Lambda invocation's trace (X-Ray's
// header). If the context already has a span, such as otellambda's, that is the parent in
// any case.
type Invocation uint8

const (
	// InvocationSampled continues the invocation's trace if Lambda sampled it. If not, the
	// batch's span begins a trace of its own that links to it. Without active tracing no
	// invocation is sampled, and an SDK that follows this decision (the default does) would
	// make no span at all.
	InvocationSampled Invocation = iota
	// InvocationContinued continues the invocation's trace, sampled or not. Use it if spans
	// are sent to AWS X-Ray.
	InvocationContinued
	// InvocationLinked always begins a trace of its own. Use it if your backend does not
	// get X-Ray's spans: the parent would be missing there.
	InvocationLinked
)

// Hook makes spans and metrics. It is safe for concurrent use.
type Hook struct {
	opts    Options
	tracer  trace.Tracer
	metrics metrics
	queues  queues
	flushes *sharedcall.Calls // calls of Options.Flush, shared by invocations that end at the same time
}

const scope = "github.com/sqsbatch/sqsbatch/telemetry/otel"

// New returns a hook for handler.Config.Hooks. Errors of the SDK go to the error handler of
// OpenTelemetry (otel.SetErrorHandler).
func New(opts Options) *Hook {
	if opts.TracerProvider == nil {
		opts.TracerProvider = otel.GetTracerProvider()
	}
	if opts.MeterProvider == nil {
		opts.MeterProvider = otel.GetMeterProvider()
	}
	if opts.Propagator == nil {
		opts.Propagator = w3c
	}
	h := &Hook{
		opts:   opts,
		tracer: opts.TracerProvider.Tracer(scope, trace.WithSchemaURL(semconv.SchemaURL)),
	}
	h.flushes = sharedcall.New(h.flush)
	h.metrics.init(opts.MeterProvider.Meter(scope, metric.WithSchemaURL(semconv.SchemaURL)))
	return h
}
