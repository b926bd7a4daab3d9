package otel

import (
	"strings"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/sqsbatch/sqsbatch/batch"
)

// queue has the attributes that all spans of a queue share.
type queue struct {
	name  string // "" if it is not known, or if there are several
	span  string // the spans' name
	attrs []attribute.KeyValue
}

// queues caches queues by ARN.
type queues struct{ byARN sync.Map }

// maxQueues limits the cache: a test may make up any number of ARNs.
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

// newQueue makes the attributes that all spans of a queue share: those that the conventions
// want when a span is created, so that samplers can use them.
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
