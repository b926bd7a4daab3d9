package otel

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// Options change what is made. The zero value is good where the global
// providers are set.
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
	// batch.FlushHook says. It is never called twice at a time. Defaults to
	// nothing: on Lambda spans then wait for the next invocation, or are lost.
	Flush func(context.Context) error
}

// Invocation says how the batch's span belongs to the trace of the Lambda
// invocation, of which AWS X-Ray's header tells. Where the context has a span
// already, such as that of otellambda, that one is the parent in any case.
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

// Hook is a hook of package batch that makes spans and metrics. It is safe for
// concurrent use.
type Hook struct {
	opts     Options
	tracer   trace.Tracer
	metrics  metrics
	queues   queues
	flushing chan struct{}                 // has a value while Options.Flush runs
	overdue  atomic.Pointer[chan struct{}] // closed when the flush has returned that was not waited for
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
		opts:     opts,
		tracer:   opts.TracerProvider.Tracer(scope, trace.WithSchemaURL(semconv.SchemaURL)),
		flushing: make(chan struct{}, 1),
	}
	h.metrics.init(opts.MeterProvider.Meter(scope, metric.WithSchemaURL(semconv.SchemaURL)))
	return h
}

// Flush implements batch.FlushHook: it calls Options.Flush, and returns when
// that has, or when ctx ends. While an earlier call runs it waits for its turn,
// unless that one has had its time: then nothing is flushed. Errors go to the
// error handler of OpenTelemetry.
func (h *Hook) Flush(ctx context.Context) {
	if h.opts.Flush == nil {
		return
	}
	if h.stuck() {
		handle(errOverdue)
		return
	}
	select {
	case h.flushing <- struct{}{}:
	case <-ctx.Done():
		handle(errOverdue)
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := flush(ctx, h.opts.Flush)
		<-h.flushing
		if err != nil {
			handle(fmt.Errorf("sqsbatch: Options.Flush: %w", err))
		}
	}()
	select {
	case <-done:
	case <-ctx.Done():
		h.overdue.Store(&done)
	}
}

// stuck reports whether a flush that was not waited for still runs.
func (h *Hook) stuck() bool {
	done := h.overdue.Load()
	if done == nil {
		return false
	}
	select {
	case <-*done:
		return false
	default:
		return true
	}
}

var errOverdue = errors.New("sqsbatch: Options.Flush is not called: an earlier call of it did not return in its time")

func flush(ctx context.Context, f func(context.Context) error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("it panicked: %v", v)
		}
	}()
	return f(ctx)
}
