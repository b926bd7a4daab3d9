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

// maxAttributes is how many attributes a message may have ("Amazon SQS message
// quotas" in the Amazon SQS Developer Guide).
const maxAttributes = 10

// Inject writes ctx's span and baggage into message attributes, as the W3C
// headers traceparent, tracestate and baggage, for consumers to link to. It
// returns the attributes for SendMessage, or for one entry of SendMessageBatch;
// those that it is given are not changed.
//
// SQS allows a message ten attributes. Where they leave no room for all of it,
// baggage is left out first, then tracestate. When not even traceparent has
// room, Inject returns the attributes as they are and an error that names their
// number: [InjectSystem] needs no room. Attributes that are there already stay,
// and with a traceparent among them nothing is added: the message was created
// in another span. Without a span and baggage there is nothing to add.
func Inject(ctx context.Context, attributes map[string]types.MessageAttributeValue) (map[string]types.MessageAttributeValue, error) {
	return inject(ctx, attributes, w3c)
}

// Inject is the function [Inject] with Options.Propagator. What the propagator
// writes last is left out first.
func (h *Hook) Inject(ctx context.Context, attributes map[string]types.MessageAttributeValue) (map[string]types.MessageAttributeValue, error) {
	return inject(ctx, attributes, h.opts.Propagator)
}

func inject(ctx context.Context, attributes map[string]types.MessageAttributeValue, p propagation.TextMapPropagator) (map[string]types.MessageAttributeValue, error) {
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
	injected := make(map[string]types.MessageAttributeValue, len(attributes)+len(headers))
	maps.Copy(injected, attributes)
	for _, h := range headers {
		if _, there := injected[h.name]; there || room == 0 {
			continue
		}
		injected[h.name] = types.MessageAttributeValue{DataType: aws.String("String"), StringValue: &h.value}
		room--
	}
	return injected, nil
}

// InjectSystem writes ctx's span into the message's system attributes, as
// AWSTraceHeader, for MessageSystemAttributes of SendMessage or of an entry of
// SendMessageBatch. It counts neither as one of the ten attributes nor to the
// message's size; it has no place for tracestate and baggage. Without a span, or
// with the header there already, attributes are returned as they are.
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

// headers are what a propagator writes, in its order.
type headers []header

type header struct{ name, value string }

// rank is how soon a header is left out.
func (h header) rank() int {
	switch h.name {
	case "baggage":
		return 2
	case "tracestate":
		return 1
	}
	return 0
}

// Set implements propagation.TextMapCarrier. SQS takes no empty value.
func (h *headers) Set(key, value string) {
	if value != "" {
		*h = append(*h, header{key, value})
	}
}

// Get and Keys are not for writing.
func (h *headers) Get(string) string { return "" }

func (h *headers) Keys() []string { return nil }
