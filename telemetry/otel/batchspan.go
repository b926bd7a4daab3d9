package otel

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/sqsbatch/sqsbatch/batch"
)

// batchSpan is a batch's span, and a context with it.
type batchSpan struct {
	context.Context
	span    trace.Span // nil if records have only their own spans
	queue   *queue     // of all records; nil without span
	records []batch.Record

	mu      sync.Mutex
	open    map[*batch.Record]*recordSpan
	settled bool
}

type batchKey struct{}

func (b *batchSpan) Value(key any) any {
	if _, ok := key.(batchKey); ok {
		return b
	}
	return b.Context.Value(key)
}

func batchOf(ctx context.Context) *batchSpan {
	b, _ := ctx.Value(batchKey{}).(*batchSpan)
	return b
}

const (
	// maxLinks is the default limit of the SDK. Each record's span has its own link anyway.
	maxLinks = 128
	// maxEvents is the largest number of events for records without a span.
	maxEvents = 100
)

// batchContext begins the batch's span.
func (h *Instrumentation) batchContext(ctx context.Context, info batch.BatchInfo, records []batch.Record) context.Context {
	b := &batchSpan{Context: ctx, records: records}
	if len(records) == 0 || !records[0].ReceivedAt.IsZero() { // of a long poll: the record has a span of its own
		return b
	}
	b.queue = newQueue(batch.QueueName(info.QueueARN))
	if slices.ContainsFunc(records, func(r batch.Record) bool { return r.QueueARN != info.QueueARN }) {
		b.queue = newQueue("")
	}
	attrs := append(make([]attribute.KeyValue, 0, len(b.queue.attrs)+3), b.queue.attrs...)
	attrs = append(attrs, semconv.MessagingBatchMessageCount(len(records)), semconv.FaaSTriggerPubSub)
	if lc, ok := lambdacontext.FromContext(ctx); ok {
		attrs = append(attrs, semconv.FaaSInvocationID(lc.AwsRequestID))
	}
	links := h.senders(records)
	ctx, link := h.invocation(ctx)
	links = append(links, link...)
	b.Context, b.span = h.tracer.Start(ctx, b.queue.span, consumer, trace.WithAttributes(attrs...), trace.WithLinks(links...))
	return b
}

// senders returns links to the spans that sent the records, each with the message's id.
func (h *Instrumentation) senders(records []batch.Record) (links []trace.Link) {
	for i := range records {
		from := h.sender(&records[i])
		for _, link := range from.links() {
			if len(links) == maxLinks {
				return links
			}
			link.Attributes = []attribute.KeyValue{semconv.MessagingMessageID(records[i].MessageID)}
			links = append(links, link)
		}
	}
	return links
}

// add registers a record's span. It returns false if the batch was settled before.
func (b *batchSpan) add(r *batch.Record, s *recordSpan) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.settled {
		return false
	}
	if b.open == nil {
		b.open = make(map[*batch.Record]*recordSpan, min(len(b.records), 100))
	}
	b.open[r] = s
	return true
}

// remove unregisters and returns a record's span, which the caller ends; nil if it is not
// registered.
func (b *batchSpan) remove(r *batch.Record) *recordSpan {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.open[r]
	delete(b.open, r)
	return s
}

// settle returns the spans that have not ended. No more are added after it.
func (b *batchSpan) settle() (open map[*batch.Record]*recordSpan) {
	b.mu.Lock()
	defer b.mu.Unlock()
	open, b.open, b.settled = b.open, nil, true
	return open
}

// batchSettled ends the spans of failed records, and then the batch's span.
func (h *Instrumentation) batchSettled(ctx context.Context, info batch.BatchInfo, results []batch.Result) {
	b := batchOf(ctx)
	if b == nil || len(results) != len(b.records) {
		return
	}
	open := b.settle()
	var counts [batch.Abandoned + 1]int
	done, events := 0, 0
	for i := range results {
		r := &results[i]
		counts[r.Outcome]++
		if r.Outcome.Done() {
			done++
		}
		switch s := open[r.Record]; {
		case s != nil:
			s.finish(r)
		case r.Outcome != batch.Succeeded && b.span != nil && events < maxEvents:
			events++
			b.span.AddEvent("sqsbatch.record", trace.WithAttributes(
				semconv.MessagingMessageID(r.Record.MessageID), outcomeKey.String(r.Outcome.String()), attemptKey.Int(r.Record.Attempt)))
		}
	}
	if b.span != nil {
		endBatch(b.span, counts[:], done)
	}
}

// endBatch ends a batch's span. The span has status Error if no record succeeded.
func endBatch(span trace.Span, counts []int, done int) {
	defer span.End()
	if !span.IsRecording() {
		return
	}
	for outcome, n := range counts {
		if n > 0 {
			name := strings.ReplaceAll(batch.Outcome(outcome).String(), "-", "_")
			span.SetAttributes(attribute.Int("sqsbatch.records."+name, n))
		}
	}
	if done == 0 {
		span.SetAttributes(semconv.ErrorTypeKey.String("no_record_done"))
		span.SetStatus(codes.Error, "no record of the batch was done")
	}
}

// warned adds an event to the batch's span, if there is one.
func (h *Instrumentation) warned(ctx context.Context, w batch.Warning) {
	b := batchOf(ctx)
	if b == nil || b.span == nil || !b.span.IsRecording() || w.Info {
		return
	}
	attrs := []attribute.KeyValue{attribute.String("sqsbatch.warning.message", w.Message)}
	if w.MessageID != "" {
		attrs = append(attrs, semconv.MessagingMessageID(w.MessageID))
	}
	if w.Err != nil {
		attrs = append(attrs, semconv.ExceptionMessage(short(w.Err.Error(), maxText)))
	}
	b.span.AddEvent("sqsbatch.warning", trace.WithAttributes(attrs...))
}

type queue struct {
	name  string // "" if it is not known, or if there are several
	span  string // the spans' name
	attrs []attribute.KeyValue
}

// newQueue returns a queue with the attributes of all its spans. The conventions require these
// at the creation of a span, so that samplers can use them.
func newQueue(name string) *queue {
	q := &queue{name: name, span: "process"}
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
