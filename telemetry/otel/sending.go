package otel

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
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
// The message carries the span in the attributes of [Instrumentation.Inject]. A message without
// room for them carries the span as AWSTraceHeader, unless it has one. A message with a
// traceparent was created in another span: the new span links to that one, has kind CLIENT, and
// is not written, as the conventions require.
//
// Each message is also counted in messaging.client.sent.messages.
func (h *Instrumentation) TraceMessage(ctx context.Context, queue string, m *producer.Message) func(producer.Result) {
	name := batch.QueueName(queue)
	kind, opts := trace.SpanKindProducer, make([]trace.SpanStartOption, 0, 3)
	created := trace.SpanContextFromContext(h.opts.Propagator.Extract(context.Background(), attributesOf(m.Attributes)))
	if created.IsValid() {
		kind = trace.SpanKindClient
		opts = append(opts, trace.WithLinks(trace.Link{SpanContext: created}))
	}
	opts = append(opts, trace.WithSpanKind(kind), trace.WithAttributes(sentAttributes(measured{queue: name})...))
	ctx, span := h.tracer.Start(ctx, "send "+name, opts...)
	if !created.IsValid() {
		carry(ctx, h, m)
	}
	return func(r producer.Result) { h.sent(ctx, span, name, r) }
}

func carry(ctx context.Context, h *Instrumentation, m *producer.Message) {
	attributes, err := inject(ctx, m.Attributes, h.opts.Propagator, func(value string) batch.MessageAttribute {
		return batch.MessageAttribute{DataType: "String", StringValue: value}
	})
	m.Attributes = attributes
	if sc := trace.SpanContextFromContext(ctx); err != nil && m.TraceHeader == "" && sc.IsValid() {
		m.TraceHeader = formatXRay(sc)
	}
}

func (h *Instrumentation) sent(ctx context.Context, span trace.Span, queue string, r producer.Result) {
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
	h.metrics.sent.Add(ctx, 1, h.metrics.sends.get(measured{"send", queue, batch.Pending, failure}, sentAttributes).add...)
	span.End()
}

// SenderCalled is for sender.Config.OnCall. It measures calls of SendMessageBatch in
// messaging.client.operation.duration.
func (h *Instrumentation) SenderCalled(c producer.Call) {
	h.called(context.Background(), batch.Call{Operation: "SendMessageBatch", URL: c.URL, Failed: c.Failed, Duration: c.Duration, Err: c.Err})
}

// sendFailures are the classes of package sender's own errors.
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

func sentAttributes(of measured) []attribute.KeyValue {
	return []attribute.KeyValue{
		semconv.MessagingSystemAWSSQS, semconv.MessagingOperationName("send"), semconv.MessagingOperationTypeSend,
		semconv.MessagingDestinationName(of.queue),
	}
}

// maxAttributes is the limit of attributes for a message ("Amazon SQS message quotas" in the
// Amazon SQS Developer Guide).
const maxAttributes = 10

// Inject writes ctx's span and baggage into message attributes, as the W3C headers
// traceparent, tracestate and baggage, so that consumers can link to the span. It returns
// the attributes for SendMessage, or for one entry of SendMessageBatch. It does not change
// the given map.
//
// SQS allows ten attributes for each message. If there is not enough room, Inject leaves
// out baggage first, then tracestate. If there is no room even for traceparent, it returns
// the attributes unchanged and an error with their number; [InjectSystem] needs no room.
// Inject does not overwrite attributes. If there is a traceparent already, it adds nothing,
// because the message was created in another span.
func Inject(ctx context.Context, attributes map[string]types.MessageAttributeValue) (map[string]types.MessageAttributeValue, error) {
	return inject(ctx, attributes, w3c, sdkText)
}

// Inject is the function [Inject] with Config.Propagator. If there is not enough room, it
// leaves out the propagator's last headers first.
func (h *Instrumentation) Inject(ctx context.Context, attributes map[string]types.MessageAttributeValue) (map[string]types.MessageAttributeValue, error) {
	return inject(ctx, attributes, h.opts.Propagator, sdkText)
}

func sdkText(value string) types.MessageAttributeValue {
	return types.MessageAttributeValue{DataType: aws.String("String"), StringValue: &value}
}

// inject implements Inject for attributes of the SDK and of package batch. text makes one.
func inject[V any](ctx context.Context, attributes map[string]V, p propagation.TextMapPropagator, text func(string) V) (map[string]V, error) {
	var headers headers
	p.Inject(ctx, &headers)
	if len(headers) == 0 {
		return attributes, nil
	}
	slices.SortStableFunc(headers, func(a, b header) int { return a.rank() - b.rank() })
	if _, created := attributes[headers[0].name]; created {
		return attributes, nil
	}
	room := maxAttributes - len(attributes)
	if room < 1 {
		return attributes, fmt.Errorf("otel: the message has %d attributes already and SQS allows %d: no room for %s", len(attributes), maxAttributes, headers[0].name)
	}
	injected := make(map[string]V, len(attributes)+len(headers))
	maps.Copy(injected, attributes)
	for _, h := range headers {
		if _, there := injected[h.name]; there || room == 0 {
			continue
		}
		injected[h.name] = text(h.value)
		room--
	}
	return injected, nil
}

// InjectSystem writes ctx's span into the message's system attributes, as AWSTraceHeader,
// for MessageSystemAttributes of SendMessage or of an entry of SendMessageBatch. It does
// not count as one of the ten attributes or towards the message's size, but it cannot have
// tracestate and baggage. Without a span, or if the header is there already, it returns the
// attributes unchanged.
func InjectSystem(ctx context.Context, attributes map[string]types.MessageSystemAttributeValue) map[string]types.MessageSystemAttributeValue {
	sc := trace.SpanContextFromContext(ctx)
	if _, there := attributes[xrayHeader]; there || !sc.IsValid() {
		return attributes
	}
	injected := make(map[string]types.MessageSystemAttributeValue, len(attributes)+1)
	maps.Copy(injected, attributes)
	injected[xrayHeader] = types.MessageSystemAttributeValue{DataType: aws.String("String"), StringValue: aws.String(formatXRay(sc))}
	return injected
}

// headers are the headers that a propagator writes, in order.
type headers []header

type header struct{ name, value string }

// rank is the order in which headers are left out.
func (h header) rank() int {
	switch h.name {
	case "baggage":
		return 2
	case "tracestate":
		return 1
	}
	return 0
}

// Set implements propagation.TextMapCarrier. It ignores an empty value, which SQS does not
// accept.
func (h *headers) Set(key, value string) {
	if value != "" {
		*h = append(*h, header{key, value})
	}
}

// Get and Keys are not used for writing.
func (h *headers) Get(string) string { return "" }

func (h *headers) Keys() []string { return nil }
