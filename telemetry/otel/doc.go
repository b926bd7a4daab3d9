// Package otel makes OpenTelemetry spans and metrics of what becomes of
// records, on Lambda and in containers, by the semantic conventions for
// messaging systems. It is one hook of package batch:
//
//	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter))
//	handler.RunWith(batch.JSON(shipOrder), handler.Config{
//		Hooks: []any{otel.New(otel.Options{TracerProvider: provider, Flush: provider.ForceFlush})},
//	})
//
// Each record that is handed to the handler has a span "process QUEUE" of kind
// CONSUMER, from when the handler is called until it returns or is abandoned.
// The handler's context has it, so that the handler's own spans are its
// children. It links to the span that sent the message, by the W3C headers in
// the message attributes ([Inject] writes them), or AWS's own AWSTraceHeader.
//
// On Lambda, and for records of a FIFO group that a container handles one after
// another, a span of the same name for the batch is above them. On Lambda it
// belongs to the invocation's trace, see [Invocation]. A record that a
// container handles by itself has no other span: its trace begins with it.
//
// A record that failed has status Error, error.type and an exception event,
// which has the error's text, and the stack of a panic, but never the body.
// Its span is held back until the batch is settled, since only then it is known
// whether the record went to the dead-letter queue and when it comes back; the
// end of the span is when the handler was done. Records that were not handed to
// the handler (not started, or skipped in their FIFO group) have no span: the
// batch's has an event sqsbatch.record for each.
//
// docs/observability/traces.md lists attributes and metrics. The package depends on
// the API of OpenTelemetry, not on an SDK: without one it makes nothing.
package otel
