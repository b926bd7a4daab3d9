package otel_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/test/testhooks"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/lambda"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/telemetry/otel"
	"github.com/sqsbatch/sqsbatch/test/testqueue"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a queue and an SDK that keeps what it gets, in virtual time.
type world struct {
	*testqueue.Queue
	t      *testing.T
	spans  *tracetest.InMemoryExporter
	reader *sdkmetric.ManualReader
	tracer trace.Tracer // of the same SDK, for the application's own spans
	hook   *otel.Instrumentation
}

func inWorld(t *testing.T, fifo bool, opts otel.Config, script func(*world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{Queue: testqueue.New(t, fifo), t: t}
		w.observe(opts)
		script(w)
		time.Sleep(2 * time.Hour) // for handlers that were given up
	})
}

func inWorldRun(t *testing.T, name string, fifo bool, opts otel.Config, script func(*world)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { inWorld(t, fifo, opts, script) })
}

func (w *world) observe(opts otel.Config) {
	w.spans, w.reader = tracetest.NewInMemoryExporter(), sdkmetric.NewManualReader()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(w.spans))
	opts.TracerProvider = provider
	opts.MeterProvider = sdkmetric.NewMeterProvider(sdkmetric.WithReader(w.reader))
	w.tracer = provider.Tracer("application")
	w.hook = otel.New(opts)
}

func (w *world) config() handler.Config {
	return handler.Config{Hooks: testhooks.Of(w.hook)}
}

// onLambda invokes h with what is in the queue, once, in the context that in makes.
func (w *world) onLambda(h batch.HandlerFunc, cfg handler.Config, in ...func(context.Context) context.Context) {
	w.t.Helper()
	invoke := w.Lambda(h, cfg).Invoke
	first := true
	fn, err := lambda.Start(lambda.Function{Timeout: 10 * time.Second, Concurrency: 1, Handler: func(ctx context.Context, payload []byte) ([]byte, error) {
		if !first { // what comes back before the mapping has ended
			return nil, errors.New("enough")
		}
		first = false
		for _, f := range in {
			ctx = f(ctx)
		}
		return invoke(ctx, payload)
	}})
	ok(w.t, err)
	defer fn.Close()
	ctx, stop := context.WithCancel(w.t.Context())
	err = lambda.Mapping{Function: fn, SQS: w.Client, QueueURL: w.URL, ReportBatchItemFailures: true,
		Ended: func(lambda.Ended) { stop() }}.Run(ctx)
	ok(w.t, err)
}

// byBody is a handler for every outcome.
func byBody(ctx context.Context, r batch.Record) error {
	body := r.Body[strings.LastIndexByte(r.Body, ':')+1:]
	switch body {
	case "fail":
		return fmt.Errorf("shipping: %w", &carrierError{})
	case "later":
		return batch.RetryAfter(time.Hour, errors.New("busy"))
	case "never":
		return batch.Permanent(errors.New("no such thing"))
	case "malformed":
		return batch.JSON(func(context.Context, int) error { return nil }).Handle(ctx, r)
	case "panic":
		panic("oops")
	case "goexit":
		runtime.Goexit()
	case "slow":
		<-ctx.Done()
		return ctx.Err()
	case "hang":
		time.Sleep(time.Hour)
	}
	return nil
}

type carrierError struct{}

func (*carrierError) Error() string { return "the carrier is on strike" }

// byID are the ended spans that have a message's id, the others aside.
func (w *world) byID() (list []tracetest.SpanStub, others []tracetest.SpanStub) {
	for _, s := range w.spans.GetSpans() {
		if attr(s.Attributes, "messaging.message.id") != "" {
			list = append(list, s)
		} else {
			others = append(others, s)
		}
	}
	slices.SortStableFunc(list, func(a, b tracetest.SpanStub) int { return a.StartTime.Compare(b.StartTime) })
	return list, others
}

func attr(list []attribute.KeyValue, key string) string {
	for _, kv := range list {
		if string(kv.Key) == key {
			return kv.Value.String()
		}
	}
	return ""
}

// attrs are the values of some attributes, as "a=1 b=2"; without keys, all.
func attrs(list []attribute.KeyValue, keys ...string) string {
	var out []string
	for _, kv := range list {
		if len(keys) == 0 || slices.Contains(keys, string(kv.Key)) {
			out = append(out, fmt.Sprintf("%s=%s", kv.Key, kv.Value.String()))
		}
	}
	slices.SortFunc(out, cmp.Compare)
	return strings.Join(out, " ")
}

// outcomeOf is what a span says of how it ended.
func outcomeOf(s tracetest.SpanStub) string {
	out := attr(s.Attributes, "sqsbatch.outcome")
	if e := attr(s.Attributes, "error.type"); e != "" {
		out += " " + e
	}
	if s.Status.Code == codes.Error {
		out += ": " + s.Status.Description
	}
	return out
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
