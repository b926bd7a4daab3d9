package prometheus_test

import (
	"fmt"
	"net/http"

	client "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

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
