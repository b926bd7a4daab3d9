package otel

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// maxAttributes is how many attributes a message may have ("Amazon SQS message quotas" in
// the Amazon SQS Developer Guide).
const maxAttributes = 10

// Inject writes ctx's span and baggage into message attributes, as the W3C headers
// traceparent, tracestate and baggage, so that consumers can link to the span. It returns
// the attributes for SendMessage, or for one entry of SendMessageBatch. It does not change
// the map that it gets.
//
// SQS allows ten attributes for each message. If there is not enough room, Inject leaves
// out baggage first, then tracestate. If there is no room even for traceparent, it returns
// the attributes unchanged and an error with their number; [InjectSystem] needs no room.
// Inject does not overwrite attributes. If there is a traceparent already, it adds nothing,
// because the message was created in another span.
func Inject(ctx context.Context, attributes map[string]types.MessageAttributeValue) (map[string]types.MessageAttributeValue, error) {
	return inject(ctx, attributes, w3c, sdkText)
}

// Inject is the function [Inject] with Options.Propagator. The headers that the propagator
// writes last are left out first.
func (h *Hook) Inject(ctx context.Context, attributes map[string]types.MessageAttributeValue) (map[string]types.MessageAttributeValue, error) {
	return inject(ctx, attributes, h.opts.Propagator, sdkText)
}

func sdkText(value string) types.MessageAttributeValue {
	return types.MessageAttributeValue{DataType: aws.String("String"), StringValue: &value}
}

// inject is for the attributes of the SDK and of package batch, which text makes.
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
