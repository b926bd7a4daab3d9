package otel

import (
	"context"
	"errors"
	"net/url"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/sqsbatch/sqsbatch/batch"
)

// callKey is the key of the attribute sets of calls to SQS.
type callKey struct{ operation, url string }

// Called implements [batch.CallHook]: it measures a call to SQS. It ignores a call that a
// stop abandoned.
func (h *Hook) Called(ctx context.Context, c batch.Call) {
	if errors.Is(c.Err, context.Canceled) {
		return
	}
	failure := ""
	switch {
	case c.Err != nil:
		failure = class(c.Err)
	case c.Failed > 0:
		failure = "entries_failed"
	}
	set := h.metrics.callSets.get(callKey{c.Operation, c.URL}, failure, callAttributes)
	h.metrics.operation.Record(ctx, c.Duration.Seconds(), set.record...)
}

// operationTypes are the operation types of the conventions, for calls about messages.
var operationTypes = map[string]attribute.KeyValue{
	"ReceiveMessage":               semconv.MessagingOperationTypeReceive,
	"SendMessageBatch":             semconv.MessagingOperationTypeSend,
	"SendMessage":                  semconv.MessagingOperationTypeSend,
	"DeleteMessageBatch":           semconv.MessagingOperationTypeSettle,
	"DeleteMessage":                semconv.MessagingOperationTypeSettle,
	"ChangeMessageVisibilityBatch": semconv.MessagingOperationTypeSettle,
	"ChangeMessageVisibility":      semconv.MessagingOperationTypeSettle,
}

func callAttributes(key callKey) []attribute.KeyValue {
	attrs := []attribute.KeyValue{semconv.MessagingSystemAWSSQS, semconv.MessagingOperationName(key.operation)}
	if t, ok := operationTypes[key.operation]; ok {
		attrs = append(attrs, t)
	}
	if name := batch.QueueName(key.url); name != "" {
		attrs = append(attrs, semconv.MessagingDestinationName(name))
	}
	if u, err := url.Parse(key.url); err == nil && u.Host != "" {
		attrs = append(attrs, semconv.ServerAddress(u.Hostname()))
		if port, err := strconv.Atoi(u.Port()); err == nil {
			attrs = append(attrs, semconv.ServerPort(port))
		}
	}
	return attrs
}
