package otel

import (
	"strings"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/sqsbatch/sqsbatch/batch"
)

// queue is what spans of a queue have in common.
type queue struct {
	name  string // "" if unknown, or several
	span  string // the spans' name
	attrs []attribute.KeyValue
}

// queues remembers the queues by ARN.
type queues struct{ byARN sync.Map }

// maxQueues bounds what is remembered: a test may make up any number of ARNs.
const maxQueues = 1_000

func (q *queues) of(arn string) *queue {
	if known, ok := q.byARN.Load(arn); ok {
		return known.(*queue)
	}
	n := 0
	q.byARN.Range(func(any, any) bool { n++; return n < maxQueues })
	made := newQueue(batch.QueueName(arn))
	if n < maxQueues {
		q.byARN.Store(strings.Clone(arn), made)
	}
	return made
}

// newQueue makes what spans of a queue have in common. The attributes are those
// that the conventions want at a span's creation, for samplers to decide by.
func newQueue(name string) *queue {
	q := &queue{name: strings.Clone(name), span: "process"}
	q.attrs = []attribute.KeyValue{
		semconv.MessagingSystemAWSSQS,
		semconv.MessagingOperationName("process"),
		semconv.MessagingOperationTypeProcess,
	}
	if name != "" {
		q.span += " " + name
		q.attrs = append(q.attrs, semconv.MessagingDestinationName(q.name))
	}
	return q
}
