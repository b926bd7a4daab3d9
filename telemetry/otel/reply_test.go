package otel_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/reply"
	"github.com/sqsbatch/sqsbatch/sender"
	"github.com/sqsbatch/sqsbatch/sqstest"
	"github.com/sqsbatch/sqsbatch/telemetry/otel"
)

// A call over queues: the record's span has a link to the request's, the answer's span is a
// child of the record's. The answer's names no process: each has a reply queue of its own.
func TestSpansOfACall(t *testing.T) {
	w := &world{t: t}
	w.observe(otel.Options{})
	traced := sender.Config{Trace: w.hook.TraceMessage, OnCall: w.hook.SenderCalled}
	h := reply.HandlerWith(reply.HandlerConfig{Sender: traced}, func(_ context.Context, n int) (int, error) { return -n, nil })
	cfg := sqstest.Config{Container: true, Handler: handler.Config{Hooks: []any{w.hook}}}
	sqstest.RunWith(t, h, cfg, func(t *testing.T, q *sqstest.Queue) {
		q.Start()
		c, err := reply.NewClient(q.Client, reply.Config{Sender: traced})
		ok(t, err)
		ctx, span := w.tracer.Start(t.Context(), "shop")
		if n, err := reply.Call[int](ctx, c, q.URL, 7); err != nil || n != -7 {
			t.Error(n, err)
		}
		span.End()
		q.UntilIdle()
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	spans := map[string]tracetest.SpanStub{}
	for _, s := range w.spans.GetSpans() {
		spans[s.Name] = s
	}
	request, record, answer := spans["send orders"], spans["process orders"], spans["send sqsbatch-reply"]
	linked := func(s tracetest.SpanStub, to trace.SpanContext) bool {
		return len(s.Links) == 1 && s.Links[0].SpanContext.SpanID() == to.SpanID()
	}
	if request.Parent.SpanID() != spans["shop"].SpanContext.SpanID() || !linked(record, request.SpanContext) || answer.Parent.SpanID() != record.SpanContext.SpanID() {
		t.Errorf("request %v of %v, record %v with links %v, answer of %v", request.SpanContext.SpanID(), request.Parent.SpanID(), record.SpanContext.SpanID(), record.Links, answer.Parent.SpanID())
	}
	for name, s := range spans {
		if strings.Contains(name+attrs(s.Attributes), "sqsbatch-reply-") {
			t.Errorf("%s names a reply queue: %s", name, attrs(s.Attributes))
		}
	}
	var metrics metricdata.ResourceMetrics
	ok(t, w.reader.Collect(t.Context(), &metrics))
	if text := fmt.Sprintf("%+v", metrics); !strings.Contains(text, "sqsbatch-reply") || strings.Contains(text, "sqsbatch-reply-") {
		t.Errorf("the metrics are not those of sqsbatch-reply:\n%s", text)
	}
}
