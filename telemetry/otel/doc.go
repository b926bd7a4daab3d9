// Package otel makes OpenTelemetry spans and metrics of records, on Lambda and in
// containers. It follows the semantic conventions for messaging systems. It is one hook of
// package batch:
//
//	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter))
//	handler.RunWith(batch.JSON(shipOrder), handler.Config{
//		Hooks: []any{otel.New(otel.Options{TracerProvider: provider, Flush: provider.ForceFlush})},
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
