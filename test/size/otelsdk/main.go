// Command otelsdk is plain with telemetry/otel and OpenTelemetry's SDK, without
// an exporter.
package main

import (
	"context"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/telemetry/otel"
)

func main() {
	h := batch.HandlerFunc(func(context.Context, batch.Record) error { return nil })
	spans, points := sdktrace.NewTracerProvider(), sdkmetric.NewMeterProvider()
	handler.RunWith(h, handler.Config{Hooks: []any{
		otel.New(otel.Options{TracerProvider: spans, MeterProvider: points, Flush: spans.ForceFlush}),
	}})
}
