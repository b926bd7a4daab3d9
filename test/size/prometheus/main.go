// Command prometheus is plain with telemetry/prometheus.
package main

import (
	"context"
	"net/http"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/telemetry/prometheus"
)

func main() {
	h := batch.HandlerFunc(func(context.Context, batch.Record) error { return nil })
	metrics := prometheus.New(prometheus.Options{})
	handler.RunWith(h, handler.Config{Hooks: []any{metrics}, Poll: handler.PollConfig{Handlers: map[string]http.Handler{"/metrics": metrics.Handler()}}})
}
