package otel_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/test/testhooks"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/reply"
	"github.com/sqsbatch/sqsbatch/sender"
	"github.com/sqsbatch/sqsbatch/sqstest"
	"github.com/sqsbatch/sqsbatch/telemetry/otel"
)

// sending is a world with a sender to a queue of its own.
type sending struct {
	*world
	server *sqs.Server
	s      *sender.Sender
}

func inSending(t *testing.T, script func(*sending)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &sending{world: &world{t: t}, server: sqs.New(sqs.Config{})}
		defer w.server.Close()
		w.observe(otel.Config{})
		name := "mails"
		client := w.server.Client()
		_, err := client.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: &name})
		ok(t, err)
		w.s, err = sender.New(client, sender.Config{Queue: w.server.QueueURL(name), Trace: w.hook.TraceMessage, OnCall: w.hook.SenderCalled})
		ok(t, err)
		script(w)
	})
}

func (w *sending) one(name string) tracetest.SpanStub {
	w.t.Helper()
	var found []tracetest.SpanStub
	for _, s := range w.spans.GetSpans() {
		if s.Name == name {
			found = append(found, s)
		}
	}
	if len(found) != 1 {
		w.t.Fatalf("%d spans %q", len(found), name)
	}
	return found[0]
}

// A message that is sent while a record is handled is a child of the record's span, and
// carries its own span to the consumer.
func TestTraceMessage_InAHandler(t *testing.T) {
	inSending(t, func(w *sending) {
		record := batch.Record{MessageID: "m-1", QueueARN: "arn:aws:sqs:eu-west-1:123456789012:orders", TraceHeader: "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"}
		ctx := batch.WithRecord(w.hook.Hooks().RecordContext(w.t.Context(), &record), record)
		ok(t, w.s.Send(ctx, sender.Text("hello")))
		w.hook.Hooks().RecordFinished(ctx, batch.Result{Record: &record, Outcome: batch.Succeeded, Started: time.Now()})
		process, send := w.one("process orders"), w.one("send mails")
		if send.SpanKind != trace.SpanKindProducer || send.Parent.SpanID() != process.SpanContext.SpanID() || len(send.Links) > 0 || send.Status.Code != codes.Unset {
			t.Errorf("%+v", send)
		}
		got := w.server.Snapshot()[0].Messages[0]
		if want := fmt.Sprintf("00-%s-%s-01", send.SpanContext.TraceID(), send.SpanContext.SpanID()); got.Attributes["traceparent"].String != want {
			t.Errorf("the message has %q, want %q", got.Attributes["traceparent"].String, want)
		}
		want := "messaging.destination.name=mails messaging.message.id=" + got.MessageID + " messaging.operation.name=send messaging.operation.type=send messaging.system=aws_sqs sqsbatch.tries=1"
		if have := attrs(send.Attributes); have != want {
			t.Errorf("attributes %s, want\n%s", have, want)
		}
	})
}

func TestTraceMessage_WithoutRoomTheSpanIsInAWSTraceHeader(t *testing.T) {
	inSending(t, func(w *sending) {
		m := sender.Message{Body: "x", Attributes: map[string]batch.MessageAttribute{}}
		for i := range 10 {
			m.Attributes[fmt.Sprint("a", i)] = batch.MessageAttribute{DataType: "String", StringValue: "v"}
		}
		record := batch.WithRecord(w.t.Context(), batch.Record{TraceHeader: "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"})
		ok(t, w.s.Send(record, m))
		id := w.one("send mails").SpanContext.SpanID().String()
		if got := w.server.Snapshot()[0].Messages[0]; len(got.Attributes) != 10 || !strings.Contains(got.TraceHeader, id) {
			t.Errorf("%+v, want the span %s", got, id)
		}
	})
}

func TestTraceMessage_AMessageThatWasCreatedInAnotherSpan(t *testing.T) {
	inSending(t, func(w *sending) {
		const header = "00-0102030405060708090a0b0c0d0e0f10-0102030405060708-01"
		m := sender.Message{Body: "x", Attributes: map[string]batch.MessageAttribute{"traceparent": {DataType: "String", StringValue: header}}}
		ok(t, w.s.Send(w.t.Context(), m))
		send := w.one("send mails")
		if send.SpanKind != trace.SpanKindClient || len(send.Links) != 1 || send.Links[0].SpanContext.SpanID().String() != "0102030405060708" {
			t.Errorf("%+v", send)
		}
		if got := w.server.Snapshot()[0].Messages[0].Attributes["traceparent"].String; got != header {
			t.Errorf("the message has %q", got)
		}
	})
}

func TestTraceMessage_FailuresAndMetrics(t *testing.T) {
	inSending(t, func(w *sending) {
		ok(t, w.server.Inject(sqs.Fault{Kind: sqs.EntryFailure, Code: "InvalidMessageContents", Times: 1}, sqs.Fault{Kind: sqs.Throttled, Operation: "SendMessageBatch", Skip: 2}))
		ctx, cancel := context.WithTimeout(w.t.Context(), time.Second)
		defer cancel()
		for range 3 {
			_ = w.s.Send(ctx, sender.Text("secret"))
		}
		ok(t, w.s.Enqueue(w.t.Context(), sender.Text("secret"), nil))
		w.s.Close(ctx)
		var spans []string
		for _, s := range w.spans.GetSpans() {
			spans = append(spans, attrs(s.Attributes))
			if failed := s.Status.Code == codes.Error; failed != strings.Contains(attrs(s.Attributes), "error.type") || strings.Contains(s.Status.Description, "secret") {
				t.Errorf("%+v", s)
			}
		}
		var sent []string
		for _, p := range w.collect()["messaging.client.sent.messages"].Data.(metricdata.Sum[int64]).DataPoints {
			sent = append(sent, fmt.Sprint(p.Value, " ", attrs(p.Attributes.ToSlice())))
		}
		slices.Sort(sent)
		const of = "messaging.destination.name=mails messaging.operation.name=send messaging.operation.type=send messaging.system=aws_sqs"
		want := []string{"1 error.type=InvalidMessageContents " + of, "1 error.type=RequestThrottled " + of, "1 error.type=closed " + of, "1 " + of}
		if !slices.Equal(sent, want) || len(spans) != 4 {
			t.Errorf("%s\nwant\n%s\nspans\n%s", strings.Join(sent, "\n"), strings.Join(want, "\n"), strings.Join(spans, "\n"))
		}
		var calls uint64
		for _, p := range w.durations("messaging.client.operation.duration") {
			calls += p.Count
		}
		if n := len(w.server.Calls("SendMessageBatch")); calls != uint64(n) {
			t.Errorf("%d calls of %d are measured", calls, n)
		}
	})
}

// A call over queues: the record's span has a link to the request's, the answer's span is a
// child of the record's. The answer's names no process: each has a reply queue of its own.
func TestSpansOfACall(t *testing.T) {
	w := &world{t: t}
	w.observe(otel.Config{})
	traced := sender.Config{Trace: w.hook.TraceMessage, OnCall: w.hook.SenderCalled}
	h := reply.Handler(func(_ context.Context, n int) (int, error) { return -n, nil }, reply.HandlerConfig{Sender: traced})
	cfg := sqstest.Config{Container: true, Handler: handler.Config{Hooks: testhooks.Of(w.hook)}}
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
		ok(t, c.Close(t.Context()))
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
