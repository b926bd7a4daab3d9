// Command otel is plain with telemetry/otel.
package main

import (
	"context"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/telemetry/otel"
)

func main() {
	h := batch.HandlerFunc(func(context.Context, batch.Record) error { return nil })
	handler.RunWith(h, handler.Config{Hooks: []any{otel.New(otel.Options{})}})
}
