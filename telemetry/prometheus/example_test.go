package prometheus_test

import (
	"context"
	"fmt"
	"net/http"

	client "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/telemetry/metric"
	"github.com/sqsbatch/sqsbatch/telemetry/prometheus"
)

func Example() {
	metrics := prometheus.New(prometheus.Config{})
	registry := client.NewRegistry()
	registry.MustRegister(metrics, collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	http.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))

	cfg := handler.Config{Hooks: metrics.Hooks()} // for handler.RunWith or handler.NewPoller
	fmt.Println(cfg.Hooks.BatchSettled != nil, prometheus.Name(metric.RecordDuration))
	// Output: true sqsbatch_record_duration_seconds
}

// A container with metrics at /metrics, and health checks at /livez, /readyz and /statusz.
func Example_container() {
	metrics := prometheus.New(prometheus.Config{})
	main := func() {
		handler.RunWith(batch.JSON(shipOrder), handler.Config{
			Hooks: metrics.Hooks(),
			Poll: handler.PollConfig{
				Queues:     []string{"https://sqs.eu-west-1.amazonaws.com/123456789012/orders"},
				HealthAddr: ":8080",
				Handlers:   map[string]http.Handler{"/metrics": metrics.Handler()},
			},
		})
	}
	_ = main
}

type order struct {
	ID string `json:"id"`
}

func shipOrder(context.Context, order) error { return nil }
