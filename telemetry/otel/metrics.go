package otel

import (
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/sqsbatch/sqsbatch/batch"
)

// buckets are those that the conventions advise for durations, in seconds.
var buckets = metric.WithExplicitBucketBoundaries(0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)

// metrics are the instruments, and the sets of attributes that were used.
type metrics struct {
	duration metric.Float64Histogram // of a record
	consumed metric.Int64Counter

	mu   sync.RWMutex
	sets map[setKey]*set
}

// setKey is what a record's measurements are told apart by.
type setKey struct {
	queue   *queue
	outcome batch.Outcome
	failure string
}

// set is a set of attributes, as the instruments take it.
type set struct {
	record []metric.RecordOption
	add    []metric.AddOption
}

// maxSets bounds the sets. Beyond it errors are not told apart: somebody's
// error codes are as many as their messages.
const maxSets = 1_000

func (m *metrics) init(meter metric.Meter) {
	var err error
	m.duration, err = meter.Float64Histogram("messaging.process.duration",
		metric.WithUnit("s"), metric.WithDescription("Duration of processing operation."), buckets)
	handle(err)
	m.consumed, err = meter.Int64Counter("messaging.client.consumed.messages",
		metric.WithUnit("{message}"), metric.WithDescription("Number of messages that were delivered to the application."))
	handle(err)
	m.sets = make(map[setKey]*set)
}

func handle(err error) {
	if err != nil {
		otel.Handle(err)
	}
}

// processed measures a record that was handed to the handler. The context has
// the record's span, for exemplars.
func (m *metrics) processed(s *recordSpan, r *batch.Result, failure string) {
	set := m.set(setKey{s.queue, r.Outcome, failure})
	m.duration.Record(s, r.Duration.Seconds(), set.record...)
	m.consumed.Add(s, 1, set.add...)
}

func (m *metrics) set(key setKey) *set {
	m.mu.RLock()
	s, n := m.sets[key], len(m.sets)
	m.mu.RUnlock()
	if s != nil {
		return s
	}
	if n >= maxSets && key.failure != "" && key.failure != "_OTHER" {
		key.failure = "_OTHER"
		return m.set(key)
	}
	attrs := append(make([]attribute.KeyValue, 0, len(key.queue.attrs)+2), key.queue.attrs...)
	attrs = append(attrs, outcomeKey.String(key.outcome.String()))
	if key.failure != "" {
		attrs = append(attrs, semconv.ErrorTypeKey.String(key.failure))
	}
	s = newSet(attrs)
	if n < 2*maxSets {
		m.mu.Lock()
		m.sets[key] = s
		m.mu.Unlock()
	}
	return s
}

func newSet(attrs []attribute.KeyValue) *set {
	with := metric.WithAttributeSet(attribute.NewSet(attrs...))
	return &set{record: []metric.RecordOption{with}, add: []metric.AddOption{with}}
}
