package otel

import (
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/sqsbatch/sqsbatch/batch"
)

// buckets are the ones that the conventions advise for durations, in seconds.
var buckets = metric.WithExplicitBucketBoundaries(0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)

// metrics has the instruments, and the sets of attributes in use.
type metrics struct {
	duration  metric.Float64Histogram // of a record
	consumed  metric.Int64Counter
	operation metric.Float64Histogram // of a call to SQS
	sent      metric.Int64Counter

	recordSets sets[recordKeys]
	callSets   sets[callKey]
	sentSets   sets[string]
}

// recordKeys is the key of the attribute sets of records.
type recordKeys struct {
	queue   *queue
	outcome batch.Outcome
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

// processed measures a record. The context has its span, for exemplars.
func (m *metrics) processed(s *recordSpan, r *batch.Result, failure string) {
	set := m.recordSets.get(recordKeys{s.queue, r.Outcome}, failure, recordAttributes)
	m.duration.Record(s, r.Duration.Seconds(), set.record...)
	m.consumed.Add(s, 1, set.add...)
}

func recordAttributes(key recordKeys) []attribute.KeyValue {
	attrs := append(make([]attribute.KeyValue, 0, len(key.queue.attrs)+2), key.queue.attrs...)
	return append(attrs, outcomeKey.String(key.outcome.String()))
}
