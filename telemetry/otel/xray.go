package otel

import (
	"strings"

	"go.opentelemetry.io/otel/trace"
)

// xrayHeader is the name of AWS X-Ray's header outside HTTP.
const xrayHeader = "AWSTraceHeader"

// parseXRay reads the tracing header of AWS X-Ray,
// "Root=1-5759e988-bd862e3fe1be46a994272793; Parent=53995c3f42cd8ad8;Sampled=1" ("Tracing
// header" in the AWS X-Ray Developer Guide). It ignores parts that it does not know.
// Without a valid Root and Parent the result is not valid.
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
