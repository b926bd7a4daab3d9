package otel

import (
	"context"
	"maps"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/sqsbatch/sqsbatch/batch"
)

// w3c is the default propagator.
var w3c = propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})

// sender is the trace context of a record's sender, from the record.
type sender struct {
	attributes trace.SpanContext // from its message attributes
	xray       trace.SpanContext // from AWSTraceHeader; invalid if equal to attributes
	baggage    baggage.Baggage
}

func (h *Instrumentation) sender(r *batch.Record) (s sender) {
	if len(r.MessageAttributes) > 0 {
		ctx := h.opts.Propagator.Extract(context.Background(), attributesOf(r.MessageAttributes))
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
func (h *Instrumentation) invocation(ctx context.Context) (context.Context, []trace.Link) {
	if trace.SpanContextFromContext(ctx).IsValid() {
		return ctx, nil
	}
	header, _ := ctx.Value("x-amzn-trace-id").(string) // set by aws-lambda-go
	sc := parseXRay(header)
	switch {
	case !sc.IsValid():
		return ctx, nil
	case h.opts.Invocation == InvocationLinked, h.opts.Invocation == InvocationSampled && !sc.IsSampled():
		return ctx, []trace.Link{{SpanContext: sc}}
	}
	return trace.ContextWithRemoteSpanContext(ctx, sc), nil
}

// attributesOf reads message attributes for a propagator.
type attributesOf map[string]batch.MessageAttribute

func (a attributesOf) Get(key string) string { return a[key].StringValue }
func (a attributesOf) Set(string, string)    {}
func (a attributesOf) Keys() []string        { return slices.Collect(maps.Keys(a)) }

// xrayHeader is the name of AWS X-Ray's header outside HTTP.
const xrayHeader = "AWSTraceHeader"

// parseXRay reads the tracing header of AWS X-Ray,
// "Root=1-5759e988-bd862e3fe1be46a994272793; Parent=53995c3f42cd8ad8;Sampled=1" ("Tracing
// header" in the AWS X-Ray Developer Guide). It ignores unknown parts. Without a valid Root
// and Parent the result is not valid.
//
// The propagator of opentelemetry-go-contrib would make the program link the SDK.
func parseXRay(header string) trace.SpanContext {
	var c trace.SpanContextConfig
	var err error
	for field := range strings.SplitSeq(header, ";") {
		key, value, _ := strings.Cut(strings.TrimSpace(field), "=")
		switch key {
		case "Root":
			// Version 1, then the time in eight digits, and 24 more.
			if len(value) != 35 || value[:2] != "1-" || value[10] != '-' {
				return trace.SpanContext{}
			}
			c.TraceID, err = trace.TraceIDFromHex(strings.ToLower(value[2:10] + value[11:]))
		case "Parent":
			c.SpanID, err = trace.SpanIDFromHex(strings.ToLower(value))
		case "Sampled":
			c.TraceFlags = c.TraceFlags.WithSampled(value == "1")
		}
		if err != nil {
			return trace.SpanContext{}
		}
	}
	c.Remote = true
	if sc := trace.NewSpanContext(c); sc.IsValid() {
		return sc
	}
	return trace.SpanContext{}
}

// formatXRay returns the header for sc, which must be valid.
func formatXRay(sc trace.SpanContext) string {
	id, sampled := sc.TraceID().String(), "0"
	if sc.IsSampled() {
		sampled = "1"
	}
	return "Root=1-" + id[:8] + "-" + id[8:] + ";Parent=" + sc.SpanID().String() + ";Sampled=" + sampled
}
