package otel

import (
	"context"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/sqsbatch/sqsbatch/batch"
)

// w3c is the default propagator.
var w3c = propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})

// sender is the context in which a record was sent, as far as the record has it.
type sender struct {
	attributes trace.SpanContext // from its message attributes
	xray       trace.SpanContext // from AWSTraceHeader; not valid if it is the same
	baggage    baggage.Baggage
}

func (h *Hook) sender(r *batch.Record) (s sender) {
	if len(r.MessageAttributes) > 0 {
		ctx := h.opts.Propagator.Extract(context.Background(), attributesOf{r.MessageAttributes})
		s.attributes = trace.SpanContextFromContext(ctx)
		s.baggage = baggage.FromContext(ctx)
	}
	if r.TraceHeader != "" {
		s.xray = parseXRay(r.TraceHeader)
		if s.xray.TraceID() == s.attributes.TraceID() && s.xray.SpanID() == s.attributes.SpanID() {
			s.xray = trace.SpanContext{}
		}
	}
	return s
}

// context returns the sender's span, from its attributes rather than from AWS's header.
func (s *sender) context() trace.SpanContext {
	if s.attributes.IsValid() {
		return s.attributes
	}
	return s.xray
}

func (s *sender) links() (list []trace.Link) {
	if s.attributes.IsValid() {
		list = append(list, trace.Link{SpanContext: s.attributes})
	}
	if s.xray.IsValid() {
		list = append(list, trace.Link{SpanContext: s.xray})
	}
	return list
}

// invocation returns ctx with the Lambda invocation's trace, or a link to it.
func (h *Hook) invocation(ctx context.Context) (context.Context, []trace.Link) {
	if trace.SpanContextFromContext(ctx).IsValid() {
		return ctx, nil
	}
	header, _ := ctx.Value("x-amzn-trace-id").(string) // as aws-lambda-go puts it there
	sc := parseXRay(header)
	switch {
	case !sc.IsValid():
		return ctx, nil
	case h.opts.Invocation == InvocationLinked, h.opts.Invocation == InvocationSampled && !sc.IsSampled():
		return ctx, []trace.Link{{SpanContext: sc}}
	}
	return trace.ContextWithRemoteSpanContext(ctx, sc), nil
}

// attributesOf reads a record's message attributes for a propagator.
type attributesOf struct {
	m map[string]batch.MessageAttribute
}

func (a attributesOf) Get(key string) string { return a.m[key].StringValue }
func (a attributesOf) Set(string, string)    {}
func (a attributesOf) Keys() []string {
	keys := make([]string, 0, len(a.m))
	for k := range a.m {
		keys = append(keys, k)
	}
	return keys
}
