// Command function is what docs/observability/traces.md is about: a function, for Lambda
// or a container, whose spans and metrics go to a collector.
package main

import (
	"context"
	"errors"
	"log"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	sqsotel "github.com/sqsbatch/sqsbatch/telemetry/otel"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/trace"
)

func main() {
	// Where the collector is, OTEL_EXPORTER_OTLP_ENDPOINT says; what the
	// service is called, OTEL_SERVICE_NAME.
	ctx := context.Background()
	spans, err := otlptracehttp.New(ctx)
	if err != nil {
		log.Fatal(err)
	}
	points, err := otlpmetrichttp.New(ctx)
	if err != nil {
		log.Fatal(err)
	}
	tracers := trace.NewTracerProvider(trace.WithBatcher(spans))
	meters := metric.NewMeterProvider(metric.WithReader(metric.NewPeriodicReader(points)))
	otel.SetTracerProvider(tracers)
	otel.SetMeterProvider(meters)

	traces := sqsotel.New(sqsotel.Config{Flush: func(ctx context.Context) error {
		return errors.Join(tracers.ForceFlush(ctx), meters.ForceFlush(ctx))
	}})
	handler.RunWith(batch.JSON(shipOrder), handler.Config{Hooks: traces.Hooks()})
}

// Order is a message.
type Order struct{ SKU string }

func shipOrder(ctx context.Context, o Order) error {
	ctx, span := otel.Tracer("orders").Start(ctx, "ship") // a child of the record's span
	defer span.End()
	return ship(ctx, o)
}

func ship(_ context.Context, o Order) error {
	if o.SKU == "" {
		return batch.Permanent(batch.RetryAfter(time.Hour, errors.New("an order without a SKU"))) // there is no dead-letter queue
	}
	return nil
}
