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

// sender is what a record says of the context that it was sent in.
type sender struct {
	attributes trace.SpanContext // of its message attributes
	xray       trace.SpanContext // of AWSTraceHeader; not valid if the same
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

// context is the sender's, by its attributes rather than by what AWS noted.
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

// invocation is ctx with the Lambda invocation's trace, or a link to it.
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

// attributesOf are a record's message attributes, to be read by a propagator.
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
