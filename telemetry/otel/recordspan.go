package otel

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/words"
)

// Attributes for which no convention has a name.
const (
	outcomeKey         = attribute.Key("sqsbatch.outcome")
	attemptKey         = attribute.Key("sqsbatch.attempt")
	maxReceiveCountKey = attribute.Key("sqsbatch.max_receive_count")
	ageKey             = attribute.Key("sqsbatch.age_ms")
	allowedKey         = attribute.Key("sqsbatch.allowed_ms")
	visibleInKey       = attribute.Key("sqsbatch.visible_in_ms")
	deadLetterQueueKey = attribute.Key("sqsbatch.dead_letter_queue")
)

// recordSpan is a record's span, and a context with it.
type recordSpan struct {
	context.Context
	span  trace.Span
	hook  *Instrumentation
	queue *queue
	batch *batchSpan // nil if there was no BatchContext
}

type recordKey struct{}

var consumer = trace.WithSpanKind(trace.SpanKindConsumer)

func (s *recordSpan) Value(key any) any {
	if _, ok := key.(recordKey); ok {
		return s
	}
	return s.Context.Value(key)
}

// recordContext starts the record's span.
func (h *Instrumentation) recordContext(ctx context.Context, r *batch.Record) context.Context {
	s := &recordSpan{hook: h, batch: batchOf(ctx)}
	if name := batch.QueueName(r.QueueARN); s.batch != nil && s.batch.queue != nil && s.batch.queue.name == name {
		s.queue = s.batch.queue
	} else {
		s.queue = newQueue(name)
	}
	alone := s.batch == nil || len(s.batch.records) == 1
	from := h.sender(r)
	links := from.links()
	opts := append(make([]trace.SpanStartOption, 0, 4), consumer)
	switch parent := from.context(); {
	case h.opts.SenderAsParent && alone && parent.IsValid():
		if above := trace.SpanContextFromContext(ctx); above.IsValid() && s.batch != nil && s.batch.span != nil {
			links = append(links, trace.Link{SpanContext: above})
		}
		ctx = trace.ContextWithRemoteSpanContext(ctx, parent)
	case s.batch != nil && s.batch.span == nil:
		// A span in the context of the poll would become the parent of all records of the
		// process.
		opts = append(opts, trace.WithNewRoot())
	}
	if from.baggage.Len() > 0 {
		ctx = baggage.ContextWithBaggage(ctx, from.baggage)
	}
	if len(links) > 0 {
		opts = append(opts, trace.WithLinks(links...))
	}
	opts = append(opts, trace.WithAttributes(s.attributes(r)...))
	s.Context, s.span = h.tracer.Start(ctx, s.queue.span, opts...)
	if s.batch != nil && !s.batch.add(r, s) {
		s.finish(&batch.Result{Record: r, Outcome: batch.Abandoned, Err: batch.ErrAbandoned, Started: time.Now()})
	}
	return s
}

func (s *recordSpan) attributes(r *batch.Record) []attribute.KeyValue {
	attrs := append(make([]attribute.KeyValue, 0, len(s.queue.attrs)+4), s.queue.attrs...)
	attrs = append(attrs, semconv.MessagingMessageID(r.MessageID), attemptKey.Int(r.Attempt))
	if !r.SentAt.IsZero() {
		attrs = append(attrs, ageKey.Int64(max(0, time.Since(r.SentAt).Milliseconds())))
	}
	if r.ReceivedAt.IsZero() {
		attrs = append(attrs, semconv.FaaSTriggerPubSub)
	}
	return attrs
}

// recordFinished ends the span of a record that succeeded. The span of a failed record waits for
// the batch. Successes do not wait: 10,000 spans at once would overflow the SDK's queue.
func (h *Instrumentation) recordFinished(ctx context.Context, r batch.Result) {
	s, _ := ctx.Value(recordKey{}).(*recordSpan)
	switch {
	case s == nil: // skipped, or abandoned before recordContext returned
	case s.batch == nil:
		s.finish(&r)
	case r.Outcome.OK() && s.batch.remove(r.Record) != nil:
		s.finish(&r)
	}
}

// finish ends the span at the time when the handler was done, and measures the record.
func (s *recordSpan) finish(r *batch.Result) {
	end := r.Started.Add(r.Duration)
	defer s.span.End(trace.WithTimestamp(end))
	var failure string
	if r.Err != nil && r.Outcome != batch.InProgress {
		failure = errorType(r)
	}
	s.hook.metrics.processed(s, r, failure)
	if !s.span.IsRecording() {
		return
	}
	attrs := append(make([]attribute.KeyValue, 0, 6), outcomeKey.String(r.Outcome.String()))
	if r.Allowed > 0 {
		attrs = append(attrs, allowedKey.Int64(r.Allowed.Milliseconds()))
	}
	if r.MaxReceiveCount > 0 {
		attrs = append(attrs, maxReceiveCountKey.Int(r.MaxReceiveCount))
	}
	if r.VisibilitySet {
		attrs = append(attrs, visibleInKey.Int64(r.VisibleIn.Milliseconds()))
	}
	if r.DeadLetterQueue != "" {
		attrs = append(attrs, deadLetterQueueKey.String(r.DeadLetterQueue))
	}
	if failure != "" {
		attrs = append(attrs, semconv.ErrorTypeKey.String(failure))
		s.describe(r.Err, end)
	}
	s.span.SetAttributes(attrs...)
}

// describe adds an error to the span. It recovers if the error's methods panic, so that the
// other records of the batch still get their spans.
func (s *recordSpan) describe(err error, at time.Time) {
	defer func() { _ = recover() }()
	s.span.SetStatus(codes.Error, short(err.Error(), maxText))
	s.span.AddEvent("exception", trace.WithTimestamp(at), trace.WithAttributes(exception(err)...))
}

// Limits of the error in a span, in bytes. The SDK has none by default.
const (
	maxText  = 2 << 10
	maxStack = 8 << 10
)

// short returns the beginning of a text as valid UTF-8. With invalid UTF-8, OTLP exporters
// fail and lose all spans of the same request.
func short(text string, most int) string {
	const ellipsis = "…"
	if len(text) > most {
		text = words.Shorten(text, most-len(ellipsis)) + ellipsis
	}
	return strings.ToValidUTF8(text, "?")
}

func exception(err error) []attribute.KeyValue {
	attrs := []attribute.KeyValue{semconv.ExceptionType(typeName(err)), semconv.ExceptionMessage(short(err.Error(), maxText))}
	if panicked, ok := errors.AsType[*batch.PanicError](err); ok {
		attrs = append(attrs, semconv.ExceptionStacktrace(short(string(panicked.Stack), maxStack)))
	}
	return attrs
}

// otherError is the class of all further errors.
const otherError = "_OTHER"

// errorType returns the class of a record's failure, for error.type:
//
//   - abandoned, panic, goexit, malformed, timeout, canceled;
//   - else the result of the error's method ErrorType() string, or ErrorCode() string as AWS's errors have it, also of an error that it wraps;
//   - else the type of the first error below batch's verbs, the wrappers of package fmt, and those of the AWS SDK.
//
// It is "_OTHER" if one of the error's methods panics.
func errorType(r *batch.Result) string {
	if r.Outcome == batch.Abandoned {
		return "abandoned"
	}
	return class(r.Err)
}

func class(err error) (name string) {
	defer func() {
		if recover() != nil || name == "" {
			name = otherError
		}
	}()
	var panicked *batch.PanicError
	var malformed *batch.MalformedError
	var typed interface{ ErrorType() string }
	var coded interface{ ErrorCode() string }
	switch {
	case errors.As(err, &panicked):
		return "panic"
	case errors.Is(err, batch.ErrGoexit):
		return "goexit"
	case errors.As(err, &malformed):
		return "malformed"
	case errors.As(err, &typed):
		return typed.ErrorType()
	case errors.As(err, &coded):
		return coded.ErrorCode()
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "canceled"
	}
	return typeName(err)
}

// typeName returns the type of err, or of the error that it wraps if err is one of wrappers.
func typeName(err error) string {
	for {
		name := fmt.Sprintf("%T", err)
		var below error
		switch e := err.(type) {
		case interface{ Unwrap() error }:
			if wrappers[name] {
				below = e.Unwrap()
			}
		case interface{ Unwrap() []error }:
			if list := e.Unwrap(); len(list) > 0 && wrappers[name] {
				below = list[0]
			}
		}
		if below == nil {
			return name
		}
		err = below
	}
}

// wrappers are types that do not describe the failure; the errors that they wrap do.
var wrappers = map[string]bool{
	"*batch.permanentError": true, "*batch.retryAfterError": true, "*batch.abortError": true, "*sender.Error": true,
	"*fmt.wrapError": true, "*fmt.wrapErrors": true, "*errors.joinError": true,
	"*smithy.OperationError": true, "*retry.MaxAttemptsError": true, "*http.RequestSendError": true, "*url.Error": true, "*http.ResponseError": true,
}
