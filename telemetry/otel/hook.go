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

// Options change what is made. The zero value uses the global providers.
type Options struct {
	// TracerProvider makes the spans. Defaults to the global one.
	TracerProvider trace.TracerProvider

	// MeterProvider makes the metrics. Defaults to the global one.
	MeterProvider metric.MeterProvider

	// Propagator reads the sender's context from a record's message attributes,
	// and writes it in [Hook.Inject]. Defaults to W3C trace context and baggage.
	Propagator propagation.TextMapPropagator

	// SenderAsParent makes the span of a record that is handled by itself a child
	// of the span that sent it, and so a part of the sender's trace, which may
	// have ended days ago. That is every record of a standard queue in a
	// container, and on Lambda that of a batch of one. The link is there as well,
	// and one to the span that would have been the parent. Defaults to false:
	// links alone, as the conventions advise.
	SenderAsParent bool

	// Invocation says how the spans belong to the trace of the Lambda invocation.
	// Defaults to InvocationSampled.
	Invocation Invocation

	// Flush sends what the SDK keeps back: the ForceFlush method of its tracer
	// provider, or a function that calls it and the meter provider's. It is
	// called at the end of each invocation, and of handler.Poll, as
	// batch.FlushHook says. It is never called twice at a time: invocations that
	// end while it runs share the next call, whose context lasts as long as one of
	// them waits. Defaults to nothing: on Lambda spans then wait for the next
	// invocation, or are lost.
	Flush func(context.Context) error
}

// Invocation says how the batch's span belongs to the Lambda invocation's trace
// (X-Ray's header). A span in the context, as otellambda's, is the parent anyway.
type Invocation uint8

const (
	// InvocationSampled continues the invocation's trace if Lambda sampled it. If
	// not, the batch's span begins a trace of its own that links to it: without
	// active tracing no invocation is sampled, and an SDK that heeds that (the
	// default does) would make no span at all.
	InvocationSampled Invocation = iota
	// InvocationContinued continues the invocation's trace, sampled or not. It is
	// right where AWS X-Ray is what spans are sent to.
	InvocationContinued
	// InvocationLinked always begins a trace of its own. It is right where X-Ray's
	// spans are not among those that the backend gets: it would miss the parent.
	InvocationLinked
)

// Hook makes spans and metrics. It is safe for concurrent use.
type Hook struct {
	opts    Options
	tracer  trace.Tracer
	metrics metrics
	queues  queues
	flushes *sharedcall.Calls // of Options.Flush: invocations may end at once
}

const scope = "github.com/sqsbatch/sqsbatch/telemetry/otel"

// New returns a hook, to be named in handler.Config.Hooks. What the SDK
// refuses is told to the error handler of OpenTelemetry (otel.SetErrorHandler).
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
