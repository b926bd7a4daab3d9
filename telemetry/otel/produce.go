package otel

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/sqsbatch/sqsbatch/batch"
	producer "github.com/sqsbatch/sqsbatch/sender"
)

const triesKey = attribute.Key("sqsbatch.tries")

// TraceMessage is for sender.Config.Trace. Each message gets a span "send QUEUE" of kind
// PRODUCER: from the time when it is ready to be sent until its result is known. The span is
// a child of the span in ctx, which in a handler is that of the record.
//
// The message carries the span as [Hook.Inject] writes it. If it has no room for the
// attributes, it carries the span as AWSTraceHeader, if it has none. If the message has a
// traceparent already, it was created in another span: the new span links to that one, is
// of kind CLIENT, and is not written, as the conventions say.
//
// Each message is also counted in messaging.client.sent.messages.
func (h *Hook) TraceMessage(ctx context.Context, queue string, m *producer.Message) func(producer.Result) {
	name := batch.QueueName(queue)
	kind, opts := trace.SpanKindProducer, make([]trace.SpanStartOption, 0, 3)
	created := trace.SpanContextFromContext(h.opts.Propagator.Extract(context.Background(), attributesOf(m.Attributes)))
	if created.IsValid() {
		kind = trace.SpanKindClient
		opts = append(opts, trace.WithLinks(trace.Link{SpanContext: created}))
	}
	opts = append(opts, trace.WithSpanKind(kind), trace.WithAttributes(sentAttributes(name)...))
	ctx, span := h.tracer.Start(ctx, "send "+name, opts...)
	if !created.IsValid() {
		carry(ctx, h, m)
	}
	return func(r producer.Result) { h.sent(ctx, span, name, r) }
}

// carry writes ctx's span into a message.
func carry(ctx context.Context, h *Hook, m *producer.Message) {
	attributes, err := inject(ctx, m.Attributes, h.opts.Propagator, func(value string) batch.MessageAttribute {
		return batch.MessageAttribute{DataType: "String", StringValue: value}
	})
	m.Attributes = attributes
	if sc := trace.SpanContextFromContext(ctx); err != nil && m.TraceHeader == "" && sc.IsValid() {
		m.TraceHeader = formatXRay(sc)
	}
}

// sent ends the span of a message, and counts the message.
func (h *Hook) sent(ctx context.Context, span trace.Span, queue string, r producer.Result) {
	failure := ""
	span.SetAttributes(triesKey.Int(r.Tries))
	if r.MessageID != "" {
		span.SetAttributes(semconv.MessagingMessageID(r.MessageID))
	}
	if r.Err != nil {
		failure = sendFailure(r.Err)
		span.SetAttributes(semconv.ErrorTypeKey.String(failure))
		span.SetStatus(codes.Error, short(r.Err.Error(), maxText))
	}
	h.metrics.sent.Add(ctx, 1, h.metrics.sentSets.get(queue, failure, sentAttributes).add...)
	span.End()
}

// SenderCalled is for sender.Config.OnCall. It measures calls of SendMessageBatch in
// messaging.client.operation.duration.
func (h *Hook) SenderCalled(c producer.Call) {
	h.Called(context.Background(), batch.Call{Operation: "SendMessageBatch", URL: c.URL, Failed: c.Failed, Duration: c.Duration, Err: c.Err})
}

// sendFailures are the classes of errors that package sender has itself.
var sendFailures = map[error]string{
	producer.ErrClosed: "closed", producer.ErrWithdrawn: "withdrawn", producer.ErrEnded: "ended",
	producer.ErrGroupFailed: "group_failed", producer.ErrTooLate: "too_late",
}

func sendFailure(err error) string {
	for own, class := range sendFailures {
		if errors.Is(err, own) {
			return class
		}
	}
	return class(err)
}

func sentAttributes(queue string) []attribute.KeyValue {
	return []attribute.KeyValue{
		semconv.MessagingSystemAWSSQS, semconv.MessagingOperationName("send"), semconv.MessagingOperationTypeSend,
		semconv.MessagingDestinationName(queue),
	}
}
