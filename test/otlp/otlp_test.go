package otlp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	apitrace "go.opentelemetry.io/otel/trace"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/lambda"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/telemetry/otel"
)

// sdk is an SDK as a function sets it up, with exporters that send to r.
func sdk(t *testing.T, r *receiver) (*sdktrace.TracerProvider, *sdkmetric.MeterProvider) {
	t.Helper()
	ctx := context.Background()
	spans, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(r.URL+"/v1/traces"), otlptracehttp.WithCompression(otlptracehttp.GzipCompression))
	if err != nil {
		t.Fatal(err)
	}
	points, err := otlpmetrichttp.New(ctx, otlpmetrichttp.WithEndpointURL(r.URL+"/v1/metrics"))
	if err != nil {
		t.Fatal(err)
	}
	// The batch processor's own time is long: what arrives was flushed.
	tracers := sdktrace.NewTracerProvider(sdktrace.WithBatcher(spans, sdktrace.WithBatchTimeout(time.Hour)))
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(points, sdkmetric.WithInterval(time.Hour))))
	t.Cleanup(func() {
		_ = tracers.Shutdown(ctx)
		_ = meters.Shutdown(ctx)
	})
	return tracers, meters
}

var errNo = errors.New("the warehouse is closed")

func handle(_ context.Context, r batch.Record) error {
	switch r.Body {
	case "fail":
		return errNo
	case "panic":
		panic("oops")
	}
	return nil
}

// queue is a queue with messages that were sent in a span.
func queue(t *testing.T, tracer apitrace.Tracer, bodies ...string) (url string, client *awssqs.Client, sender apitrace.SpanContext) {
	t.Helper()
	server := sqs.New(sqs.Options{})
	t.Cleanup(func() { _ = server.Close() })
	client = server.Client()
	ctx, span := tracer.Start(context.Background(), "send orders", apitrace.WithSpanKind(apitrace.SpanKindProducer))
	defer span.End()
	out, err := client.CreateQueue(ctx, &awssqs.CreateQueueInput{QueueName: aws.String("orders")})
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range bodies {
		attributes, err := otel.Inject(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.SendMessage(ctx, &awssqs.SendMessageInput{QueueUrl: out.QueueUrl, MessageBody: &body, MessageAttributes: attributes}); err != nil {
			t.Fatal(err)
		}
	}
	return *out.QueueUrl, client, span.SpanContext()
}

// What a backend has got when the invocation has been answered.
func TestAnInvocationsSpansArriveBeforeItIsAnswered(t *testing.T) {
	r := newReceiver(t)
	tracers, meters := sdk(t, r)
	url, client, sender := queue(t, tracers.Tracer("sender"), "ok", "fail", "panic")
	hook := otel.New(otel.Options{TracerProvider: tracers, MeterProvider: meters, Flush: func(ctx context.Context) error {
		return errors.Join(tracers.ForceFlush(ctx), meters.ForceFlush(ctx))
	}})
	l, err := handler.New(batch.HandlerFunc(handle), handler.Config{SQS: client, Hooks: []any{hook}, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	arrived := 0
	fn, err := lambda.Start(lambda.Function{Timeout: 20 * time.Second, Handler: func(ctx context.Context, payload []byte) ([]byte, error) {
		defer func() { arrived = len(r.named("process orders")) }()
		return l.Invoke(ctx, payload)
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer fn.Close()
	ctx, stop := context.WithCancel(t.Context())
	m := lambda.Mapping{Function: fn, SQS: client, QueueURL: url, ReportBatchItemFailures: true, Ended: func(lambda.Ended) { stop() }}
	if err := m.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if arrived != 4 {
		t.Errorf("%d of 4 spans had arrived when the invocation was answered", arrived)
	}
	if got := r.scopes["github.com/sqsbatch/sqsbatch/telemetry/otel"]; got == "" {
		t.Error("the scope has no schema URL")
	}
	checkSpans(t, r.named("process orders"), sender)
	for _, name := range []string{"messaging.process.duration", "messaging.client.consumed.messages"} {
		if r.metrics[name] == nil {
			t.Errorf("no metric %s", name)
		}
	}
	var n uint64
	for _, p := range r.metrics["messaging.process.duration"].GetHistogram().GetDataPoints() {
		n += p.Count
	}
	if n != 3 {
		t.Errorf("%d records were measured", n)
	}
}

// checkSpans holds a batch of three records, of which one succeeds, against what was sent.
func checkSpans(t *testing.T, spans []*trace.Span, sender apitrace.SpanContext) {
	t.Helper()
	var above *trace.Span
	for _, s := range spans {
		if len(s.ParentSpanId) == 0 {
			above = s
		}
	}
	if above == nil {
		t.Fatalf("none of %d spans has no parent", len(spans))
	}
	failed := map[string]bool{}
	for _, s := range spans {
		if s.Kind != trace.Span_SPAN_KIND_CONSUMER || attr(s.Attributes, "messaging.system") != "aws_sqs" {
			t.Errorf("a span of kind %v: %v", s.Kind, s.Attributes)
		}
		if s == above {
			continue
		}
		id := sender.SpanID()
		if !bytes.Equal(s.ParentSpanId, above.SpanId) || len(s.Links) != 1 || !bytes.Equal(s.Links[0].SpanId, id[:]) {
			t.Errorf("the record's span has the parent %x and the links %v", s.ParentSpanId, s.Links)
		}
		if s.Status.GetCode() == trace.Status_STATUS_CODE_ERROR {
			failed[attr(s.Attributes, "error.type")] = true
			if len(s.Events) != 1 || attr(s.Events[0].Attributes, "exception.message") == "" {
				t.Errorf("events %v", s.Events)
			}
		}
	}
	if !failed["panic"] || !failed["*errors.errorString"] || len(failed) != 2 {
		t.Errorf("failed: %v", failed)
	}
}

// A collector that does not answer costs no record, and no invocation its time.
func TestACollectorThatHangs(t *testing.T) {
	r := newReceiver(t)
	r.delay = 6 * time.Second
	tracers, meters := sdk(t, r)
	_, client, _ := queue(t, tracers.Tracer("sender"))
	hook := otel.New(otel.Options{TracerProvider: tracers, MeterProvider: meters, Flush: tracers.ForceFlush})
	l, err := handler.New(batch.HandlerFunc(handle), handler.Config{SQS: client, Hooks: []any{hook}, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	began := time.Now()
	answer, err := l.Invoke(ctx, []byte(`{"Records":[{"messageId":"m","receiptHandle":"h","body":"ok","attributes":{"ApproximateReceiveCount":"1"},`+
		`"eventSource":"aws:sqs","eventSourceARN":"arn:aws:sqs:us-east-1:1:orders","awsRegion":"us-east-1"}]}`))
	if string(answer) != `{"batchItemFailures":[]}` || err != nil {
		t.Errorf("answered %s, %v", answer, err)
	}
	if d := time.Since(began); d > 4*time.Second {
		t.Errorf("the answer took %v", d)
	}
}
