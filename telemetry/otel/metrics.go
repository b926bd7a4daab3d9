package otel

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/sqsbatch/sqsbatch/batch"
)

// buckets are the bounds that the conventions recommend for durations, in seconds.
var buckets = metric.WithExplicitBucketBoundaries(0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)

// metrics has the instruments, and the sets of attributes in use.
type metrics struct {
	duration  metric.Float64Histogram // of a record
	consumed  metric.Int64Counter
	operation metric.Float64Histogram // of a call to SQS
	sent      metric.Int64Counter

	// Separate caches, so that records with many kinds of errors leave room for calls.
	records, calls, sends sets
}

func (m *metrics) init(meter metric.Meter) {
	var err error
	m.duration, err = meter.Float64Histogram("messaging.process.duration",
		metric.WithUnit("s"), metric.WithDescription("Duration of processing operation."), buckets)
	handle(err)
	m.consumed, err = meter.Int64Counter("messaging.client.consumed.messages",
		metric.WithUnit("{message}"), metric.WithDescription("Number of messages that were delivered to the application."))
	handle(err)
	m.operation, err = meter.Float64Histogram("messaging.client.operation.duration",
		metric.WithUnit("s"), metric.WithDescription("Duration of messaging operation initiated by a producer or consumer client."), buckets)
	handle(err)
	m.sent, err = meter.Int64Counter("messaging.client.sent.messages",
		metric.WithUnit("{message}"), metric.WithDescription("Number of messages producer attempted to send to the broker."))
	handle(err)
}

func handle(err error) {
	if err != nil {
		otel.Handle(err)
	}
}

// processed measures a record, with its span in the context, for exemplars.
func (m *metrics) processed(s *recordSpan, r *batch.Result, failure string) {
	set := m.records.get(measured{"process", s.queue.name, r.Outcome, failure}, recordAttributes)
	m.duration.Record(s, r.Duration.Seconds(), set.record...)
	m.consumed.Add(s, 1, set.add...)
}

func recordAttributes(of measured) []attribute.KeyValue {
	return append(newQueue(of.queue).attrs, outcomeKey.String(of.outcome.String()))
}

// called measures a call to SQS. It ignores a call that a stop abandoned.
func (h *Instrumentation) called(ctx context.Context, c batch.Call) {
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
	set := h.metrics.calls.get(measured{c.Operation, c.URL, batch.Pending, failure}, callAttributes)
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

func callAttributes(of measured) []attribute.KeyValue {
	attrs := []attribute.KeyValue{semconv.MessagingSystemAWSSQS, semconv.MessagingOperationName(of.operation)}
	if t, ok := operationTypes[of.operation]; ok {
		attrs = append(attrs, t)
	}
	if name := batch.QueueName(of.queue); name != "" {
		attrs = append(attrs, semconv.MessagingDestinationName(name))
	}
	if u, err := url.Parse(of.queue); err == nil && u.Host != "" {
		attrs = append(attrs, semconv.ServerAddress(u.Hostname()))
		if port, err := strconv.Atoi(u.Port()); err == nil {
			attrs = append(attrs, semconv.ServerPort(port))
		}
	}
	return attrs
}

// set is a set of attributes, as options of the instruments.
type set struct {
	record []metric.RecordOption
	add    []metric.AddOption
}

// measured is the key of a set.
type measured struct {
	operation string
	queue     string // the name; for calls the URL
	outcome   batch.Outcome
	failure   string // the class of error; "" for success
}

// sets caches the sets in use, so that measuring allocates nothing.
type sets struct {
	mu  sync.RWMutex
	all map[measured]*set
}

// maxSets limits the cache. Beyond it, all errors have the class otherError.
const maxSets = 1_000

// get returns the set of these attributes and error.type.
func (s *sets) get(of measured, attrs func(measured) []attribute.KeyValue) *set {
	s.mu.RLock()
	known, n := s.all[of], len(s.all)
	s.mu.RUnlock()
	if known != nil {
		return known
	}
	if n >= maxSets && of.failure != "" && of.failure != otherError {
		of.failure = otherError
		return s.get(of, attrs)
	}
	of.queue = strings.Clone(of.queue) // may be a part of an event, which the cache must not keep
	list := attrs(of)
	if of.failure != "" {
		list = append(list, semconv.ErrorTypeKey.String(of.failure))
	}
	with := metric.WithAttributeSet(attribute.NewSet(list...))
	made := &set{record: []metric.RecordOption{with}, add: []metric.AddOption{with}}
	if n < 2*maxSets {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.all == nil {
			s.all = make(map[measured]*set)
		}
		s.all[of] = made
	}
	return made
}
