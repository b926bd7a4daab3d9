// Command prometheus is the function of examples/orders in short, with metrics
// for a Prometheus server to scrape: SQSBATCH_HEALTH_ADDR=:8080, path /metrics.
package main

import (
	"context"
	"log"
	"net/http"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/telemetry/prometheus"
)

// Order is the body of a message.
type Order struct {
	ID string `json:"id"`
}

func shipOrder(_ context.Context, o Order) error {
	log.Printf("order %s is shipped", o.ID)
	return nil
}

func main() {
	metrics := prometheus.New(prometheus.Options{})
	handler.RunWith(batch.JSON(shipOrder), handler.Config{
		Hooks: []any{metrics},
		Poll:  handler.PollConfig{Handlers: map[string]http.Handler{"/metrics": metrics.Handler()}},
	})
}
