// Package hostile looks for what a sender wrote where only an operator's text belongs: in the
// log, in metrics, in traces, and in the errors of every package that wraps a handler.
package hostile

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"github.com/sqsbatch/sqsbatch/partialfailure"
	"github.com/sqsbatch/sqsbatch/test/testhooks"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdkcloudwatch "github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/envelope/eventbridge"
	"github.com/sqsbatch/sqsbatch/envelope/s3event"
	"github.com/sqsbatch/sqsbatch/envelope/sns"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/payload/encoded"
	"github.com/sqsbatch/sqsbatch/payload/protobuf"
	"github.com/sqsbatch/sqsbatch/payload/s3payload"
	"github.com/sqsbatch/sqsbatch/reply"
	"github.com/sqsbatch/sqsbatch/router"
	"github.com/sqsbatch/sqsbatch/telemetry/cloudwatch"
	"github.com/sqsbatch/sqsbatch/telemetry/emf"
	"github.com/sqsbatch/sqsbatch/telemetry/otel"
	"github.com/sqsbatch/sqsbatch/telemetry/prometheus"
	"github.com/sqsbatch/sqsbatch/test/testqueue"
)

// secret is in everything that the sender writes, and quoted is in the function's error.
const (
	secret   = "swordfish"
	quoted   = "marzipan"
	controls = "\x1b]0;title\a\x1b[2J\u009b2J\u007f\u202e\u2028\U000e0001\r\n"
)

// item is what the functions decode.
type item struct {
	ID   int            `json:"id"`
	Type string         `json:"type"`
	More map[string]int `json:"more"`
}

func done(context.Context, item) error { return nil }

// bodies are what a sender may try. Each has the secret in values and in names.
func bodies() []string {
	const s = secret
	list := []string{
		s, `"` + s + `"`, `{"` + s, `{"id":"` + s + `"}`, `{"more":{"` + s + `":"` + s + `"}}`, `{"` + s + `":1,"` + s + `":2}`,
		`{"type":"` + s + ` ` + strings.Repeat(s, 10) + `"}`, `{"type":["` + s + `"]}`, `{"type":"a","TYPE":"` + s + `"}`,
		`{"Type":"Notification","Message":{"` + s + `":1}}`, `{"Type":"` + s + `","TopicArn":"` + s + `","Message":"` + s + `"}`,
		`{"detail-type":"` + s + `","detail":"` + s + `"}`, `{"detail":{"id":"` + s + `"},"detail-type":"a"}`,
		`{"Records":"` + s + `"}`, `{"Records":[{"s3":{"object":{"key":"%` + s + `"},"bucket":{"name":"` + s + `"}}}]}`,
		`["software.amazon.payloadoffloading.PayloadS3Pointer",{"s3BucketName":"` + s + `","s3Key":"` + s + `"}]`,
		`["` + s + `.` + s + `",{"` + s + `":"` + s + `"}]`, "\xff" + s, `"` + s + `\ud800"`, "[" + strings.Repeat(`{"`+s+`":`, 3),
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = io.WriteString(w, `{"id":"`+s+`"}`)
	_ = w.Close()
	return append(list, packed.String())
}

// records returns records with every field that a sender decides.
func records() (list []batch.Record) {
	for _, body := range bodies() {
		for _, attributes := range []map[string]batch.MessageAttribute{
			nil,
			{secret: {DataType: "String", StringValue: secret}},
			{"type": {DataType: "String", StringValue: strings.Repeat(secret, 10)}},
			{"Content-Encoding": {DataType: "String", StringValue: secret}},
			{"Content-Encoding": {DataType: "String", StringValue: "gzip"}},
			{"Content-Encoding": {DataType: "String", StringValue: "gzip"}, "Content-Transfer-Encoding": {DataType: "String", StringValue: secret}},
			{"SQSLargePayloadSize": {DataType: "Number", StringValue: secret}},
			{"ExtendedPayloadSize": {DataType: "Number", StringValue: "7"}},
			{"sqsbatch.request": {DataType: "String", StringValue: secret}},
			{"sqsbatch.request": {DataType: "String", StringValue: `{"id":"` + secret + `","to":"https://` + secret + `/1/` + secret + `","deadline":"2999-01-01T00:00:00Z"}`}},
		} {
			list = append(list, batch.Record{
				MessageID: "m", ReceiptHandle: "r", Body: body, Attempt: 1, MessageAttributes: attributes, QueueARN: "arn:aws:sqs:us-east-1:123456789012:orders",
				GroupID: secret, DeduplicationID: secret, TraceHeader: secret,
			})
		}
	}
	return list
}

// Every package that decodes, unwraps or routes describes a body or an attribute that it
// refuses, and does not quote it. Exception: what Unwrap of an error returns is for code, and
// no line of sqsbatch has it.
func TestErrors_QuoteNoSender(t *testing.T) {
	ok := batch.JSON(done)
	store := idempotency.NewMemory()
	client := awssqs.New(awssqs.Options{
		Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("id", "key", ""), RetryMaxAttempts: 1,
		HTTPClient: doer(func(*http.Request) (*http.Response, error) { return nil, errors.New("no network") }),
	})
	handlers := map[string]batch.Handler{
		"JSON":                  ok,
		"JSON, strict":          batch.JSON(done, batch.JSONConfig{DisallowUnknownFields: true}),
		"router.Field":          router.New(router.Field("type"), router.Routes{"a": ok}),
		"router.Attribute":      router.New(router.Attribute("type"), router.Routes{"a": ok}),
		"router.Group":          router.New(router.Group, router.Routes{"a": ok}),
		"router.Part":           router.Part(ok, "detail"),
		"router.First":          router.First(batch.JSON(done, batch.JSONConfig{DisallowUnknownFields: true}), ok),
		"sns":                   sns.Unwrap(ok),
		"eventbridge":           eventbridge.Unwrap(ok),
		"eventbridge.JSON":      eventbridge.JSON(func(context.Context, eventbridge.Event[item]) error { return nil }),
		"s3event":               s3event.Each(func(context.Context, events.S3EventRecord) error { return nil }),
		"s3payload":             s3payload.Unwrap(s3payload.Config{Buckets: []string{"payloads"}})(ok),
		"s3payload, a prefix":   s3payload.Unwrap(s3payload.Config{Buckets: []string{secret}, Prefixes: []string{"mine/"}})(ok),
		"encoded":               encoded.Unwrap(ok),
		"protobuf":              protobuf.Handler(func(context.Context, *structpb.Struct) error { return nil }),
		"protobuf, JSON":        protobuf.Handler(func(context.Context, *structpb.Struct) error { return nil }, protobuf.Config{Format: protobuf.JSON}),
		"reply":                 reply.Handler(func(_ context.Context, v item) (item, error) { return v, nil }, reply.HandlerConfig{SQS: client}),
		"idempotency.Field":     idempotency.New(store, idempotency.Config{Key: idempotency.Field("type")})(ok),
		"idempotency.KeyOf":     idempotency.New(store, idempotency.Config{Key: idempotency.KeyOf(func(i item) string { return i.Type })})(ok),
		"idempotency.Attribute": idempotency.New(store, idempotency.Config{Key: idempotency.Attribute("type"), Content: idempotency.Body})(ok),
	}
	for name, h := range handlers {
		t.Run(name, func(t *testing.T) {
			refused := 0
			for _, r := range records() {
				ctx, cancel := context.WithTimeout(batch.WithRecord(t.Context(), r), 5*time.Second)
				err := h.Handle(ctx, r)
				cancel()
				if err == nil {
					continue
				}
				if refused++; strings.HasPrefix(err.Error(), "no handler for type ") {
					continue // docs/security.md: up to 64 plain characters
				}
				if strings.Contains(err.Error(), secret) || strings.ContainsFunc(err.Error(), unicode.IsControl) {
					t.Fatalf("body %.80q, attributes %.200q: the error is %q", r.Body, fmt.Sprint(r.MessageAttributes), err)
				}
			}
			if refused == 0 {
				t.Error("it refused nothing: the test proves nothing")
			}
		})
	}
}

type doer func(*http.Request) (*http.Response, error)

func (d doer) Do(r *http.Request) (*http.Response, error) { return d(r) }

// outputs has what every adapter sends or writes.
type outputs struct {
	mu    sync.Mutex
	texts map[string]string
}

func (o *outputs) add(name, text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.texts[name] += text
}

// into returns a writer that adds to an output.
func (o *outputs) into(name string) io.Writer {
	return writer(func(p []byte) { o.add(name, string(p)) })
}

type writer func([]byte)

func (w writer) Write(p []byte) (int, error) { w(p); return len(p), nil }

// RoundTrip answers for CloudWatch.
func (o *outputs) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if r.Header.Get("Content-Encoding") == "gzip" {
		unpacked, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		if body, err = io.ReadAll(unpacked); err != nil {
			return nil, err
		}
	}
	o.add("CloudWatch", string(body))
	answer := http.Header{"Smithy-Protocol": {"rpc-v2-cbor"}, "Content-Type": {"application/cbor"}}
	return &http.Response{StatusCode: 200, Header: answer, Body: io.NopCloser(strings.NewReader("\xa0")), Request: r}, nil
}

// ExportSpans takes the spans of OpenTelemetry.
func (o *outputs) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	for _, s := range spans {
		o.add("traces", fmt.Sprintln(s.Name(), s.Attributes(), s.Status().Description))
		for _, e := range s.Events() {
			o.add("traces", fmt.Sprintln(e.Name, e.Attributes))
		}
	}
	return nil
}

// Shutdown does nothing.
func (o *outputs) Shutdown(context.Context) error { return nil }

// A sender decides bodies, attributes, groups and trace headers, and by an error that quotes
// them a text of the function's. None but that error's text leaves the process through the log
// or a telemetry adapter, in either mode; and where it stands in lines, it makes no further one.
func TestTelemetry_HasNothingOfTheSender(t *testing.T) {
	for _, mode := range []string{"Lambda", "container"} {
		for _, kind := range []bool{testqueue.Standard, testqueue.FIFO} {
			t.Run(fmt.Sprintf("%s, FIFO %v", mode, kind), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					if mode == "Lambda" {
						t.Setenv("AWS_LAMBDA_RUNTIME_API", "x")
					}
					scan(t, mode == "Lambda", kind)
				})
			})
		}
	}
}

func scan(t *testing.T, onLambda, fifo bool) {
	q := testqueue.New(t, fifo)
	for i, body := range []string{`{"id":1,"type":"` + secret + `"}`, `{"id":"` + secret + `"}`, secret} {
		in := &awssqs.SendMessageInput{
			QueueUrl: &q.URL, MessageBody: aws.String(body), MessageGroupId: aws.String(secret + fmt.Sprint(i)),
			MessageAttributes:       map[string]types.MessageAttributeValue{secret: {DataType: aws.String("String"), StringValue: aws.String(secret)}},
			MessageSystemAttributes: map[string]types.MessageSystemAttributeValue{"AWSTraceHeader": {DataType: aws.String("String"), StringValue: aws.String("Root=" + secret)}},
		}
		if fifo {
			in.MessageDeduplicationId = aws.String(secret + fmt.Sprint(i))
		}
		if _, err := q.Client.SendMessage(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	out := &outputs{texts: map[string]string{}}
	reader := sdkmetric.NewManualReader()
	prom := prometheus.New(prometheus.Config{})
	cw := cloudwatch.New(cloudwatch.Config{Service: "s", Client: sdkcloudwatch.New(sdkcloudwatch.Options{
		Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("id", "key", ""), HTTPClient: &http.Client{Transport: out},
	})})
	cfg := handler.Config{
		Logger: slog.New(slog.NewTextHandler(out.into("log"), &slog.HandlerOptions{Level: slog.LevelDebug})), LogSucceeded: true, Failures: partialfailure.Config{OnPermanent: "retry"},
		Hooks: testhooks.Of(
			emf.New(emf.Config{Service: "s", Writer: out.into("EMF")}), prom, cw,
			otel.New(otel.Config{
				TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSyncer(out)),
				MeterProvider:  sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)),
			}),
		),
	}
	h := batch.JSON(func(_ context.Context, v item) error { return fmt.Errorf("%s %s", quoted, controls) })
	if onLambda {
		q.Map(3*time.Minute, q.Lambda(h, cfg).Invoke)
	} else {
		q.Poll(context.Background(), 3*time.Minute, h, cfg)
	}
	cw.Hooks().Flush(context.Background())
	page := httptest.NewRecorder()
	prom.Handler().ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	out.add("Prometheus", page.Body.String())
	var metrics metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &metrics); err != nil {
		t.Fatal(err)
	}
	out.add("OTel metrics", fmt.Sprintf("%+v", metrics))
	out.check(t)
}

func (o *outputs) check(t *testing.T) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, name := range []string{"log", "EMF", "CloudWatch", "traces", "Prometheus", "OTel metrics"} {
		text := o.texts[name]
		if text == "" {
			t.Errorf("%s has nothing: the test proves nothing", name)
		}
		if i := strings.Index(text, secret); i >= 0 {
			t.Errorf("%s has what the sender wrote: %q", name, text[max(0, i-200):min(len(text), i+100)])
		}
		if mayQuote := name == "log" || name == "traces"; strings.Contains(text, quoted) != mayQuote {
			t.Errorf("%s has the error's text: %v, want %v", name, !mayQuote, mayQuote)
		}
		if strings.Contains(text, "\x1b") && name != "traces" {
			t.Errorf("%s has controls: %q", name, text)
		}
	}
	for line := range strings.Lines(o.texts["log"]) {
		if !strings.HasPrefix(line, "time=") || strings.ContainsFunc(strings.TrimSuffix(line, "\n"), unicode.IsControl) {
			t.Errorf("a line of the log is %q", line)
		}
	}
}
