// Package prometheus serves metrics of a container to a Prometheus server: records by
// outcome, durations, calls to SQS, records held.
//
//	func main() {
//		metrics := prometheus.New(prometheus.Options{})
//		handler.RunWith(batch.JSON(shipOrder), handler.Config{
//			Hooks: []any{metrics},
//			Poll:  handler.PollConfig{Handlers: map[string]http.Handler{"/metrics": metrics.Handler()}},
//		})
//	}
//
// Set SQSBATCH_HEALTH_ADDR=:8080 to serve them at that address. If the process already has
// a registry, register the hook there instead. It is a Collector of client_golang:
//
//	registry.MustRegister(metrics)
//
// The registry also needs collectors.NewProcessCollector. With its
// process_start_time_seconds, the alerts of deploy/prometheus see what was counted before
// the first scrape.
//
// The metrics are those of package telemetry/metric with names for Prometheus, such as
// sqsbatch_records_total and sqsbatch_record_duration_seconds. [Name] returns the name of a
// metric, and docs/observability/metrics.md explains each. The labels are queue, and
// outcome or operation. This makes 115 series for each queue, and 32 more for a queue that
// package sender sends to, numbers that do not grow with time. The scraper's labels identify the service (job, namespace, pod).
//
// Nothing can be scraped on Lambda, where the hook only costs memory: use telemetry/emf
// there.
//
// See "Writing exporters" and "Metric and label naming" in Prometheus' documentation.
package prometheus

import (
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/sqsbatch/sqsbatch/telemetry/metric"
)

// Options configures the histograms. The zero value is ready to use.
type Options struct {
	// DurationBuckets are the upper bounds of the classic buckets of
	// sqsbatch_record_duration_seconds, in seconds and ascending. Defaults to 10 ms to 15
	// min in 14 steps.
	DurationBuckets []float64

	// AgeBuckets are the upper bounds of the classic buckets of
	// sqsbatch_message_age_seconds. Defaults to 100 ms to 14 days in 14 steps.
	AgeBuckets []float64

	// NativeOnly leaves out the classic buckets of all histograms, which saves 62 series
	// for each queue. It is for servers that scrape native histograms
	// (scrape_native_histograms, Prometheus 3.8 or later, or the feature flag
	// native-histograms before). Another server then gets no buckets, and so no quantiles.
	// Defaults to false: both kinds are there.
	NativeOnly bool
}

// Hook is a hook of package batch, and a Collector. Make it with [New]. It is
// safe for concurrent use, and for several queues.
type Hook struct {
	*metric.Recorder
	families *families
	err      error // the error of the options
}

var _ prometheus.Collector = (*Hook)(nil)

// New returns a Hook. [Hook.Validate] reports mistakes in its options; package handler
// calls it at the start.
func New(o Options) *Hook {
	h := &Hook{err: o.validate()}
	if h.err != nil {
		o = Options{} // client_golang panics at invalid options
	}
	h.families = newFamilies(o)
	h.Recorder = metric.NewRecorder(h.families)
	return h
}

// Validate returns an error that names each option that is out of its bounds.
func (h *Hook) Validate() error { return h.err }

func (o *Options) validate() error {
	for _, option := range []struct {
		name    string
		buckets []float64
	}{{"DurationBuckets", o.DurationBuckets}, {"AgeBuckets", o.AgeBuckets}} {
		for i, bound := range option.buckets {
			if !(bound > 0) || i > 0 && bound <= option.buckets[i-1] {
				return fmt.Errorf("prometheus: %s[%d] is %v, must be above 0 and above the one before", option.name, i, bound)
			}
		}
	}
	return nil
}

// Describe implements client_golang's Collector.
func (h *Hook) Describe(ch chan<- *prometheus.Desc) {
	for _, f := range h.families.all {
		f.Describe(ch)
	}
}

// Collect implements client_golang's Collector. It reads the gauges when it is called.
func (h *Hook) Collect(ch chan<- prometheus.Metric) {
	h.Recorder.Collect()
	for _, f := range h.families.all {
		f.Collect(ch)
	}
}

// Handler answers scrapes with these metrics and with those of the Go runtime and the
// process. It has its own registry.
func (h *Hook) Handler() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(h, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
}
