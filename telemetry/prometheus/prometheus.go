// Package prometheus serves metrics of a container to a Prometheus server: records by
// outcome, durations, calls to SQS, records held.
//
//	func main() {
//		metrics := prometheus.New(prometheus.Config{})
//		handler.RunWith(batch.JSON(shipOrder), handler.Config{
//			Hooks: metrics.Hooks(),
//			Poll:  handler.PollConfig{Handlers: map[string]http.Handler{"/metrics": metrics.Handler()}},
//		})
//	}
//
// Set SQSBATCH_HEALTH_ADDR=:8080 to serve them at that address. If the process already has
// a registry, register the Exporter there instead. It is a Collector of client_golang:
//
//	registry.MustRegister(metrics)
//
// The registry also needs collectors.NewProcessCollector. With its
// process_start_time_seconds, the alerts of deploy/prometheus.yaml see what was counted before
// the first scrape.
//
// The metrics are those of package telemetry/metric with names for Prometheus, such as
// sqsbatch_records_total and sqsbatch_record_duration_seconds. [Name] returns the name of a
// metric, and docs/observability/metrics.md explains each. The labels are queue, and
// outcome or operation. This makes 115 series for each queue, and 32 more for a queue that
// package sender sends to, numbers that do not grow with time. The scraper's labels identify
// the service (job, namespace, pod).
//
// On Lambda nothing can be scraped, and the hooks only cost memory: use telemetry/emf there.
//
// See "Writing exporters" and "Metric and label naming" in Prometheus' documentation.
package prometheus

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/sender"
	"github.com/sqsbatch/sqsbatch/telemetry/metric"
)

// Config configures the histograms. The zero value is ready to use.
type Config struct {
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
	// native-histograms before). Other servers then get no buckets, and so no quantiles.
	// Defaults to false: both kinds are exported.
	NativeOnly bool
}

// Exporter collects metrics from its [Exporter.Hooks], and is a Collector of client_golang. Make
// one with [New]. It is safe for concurrent use, and for several queues.
type Exporter struct {
	recorder *metric.Recorder
	families *families
	err      error // of the options
}

var _ prometheus.Collector = (*Exporter)(nil)

// New returns an Exporter. Its hooks' Validate returns the error of an invalid Config.
func New(o Config) *Exporter {
	h := &Exporter{err: o.validate()}
	if h.err != nil {
		o = Config{} // client_golang panics at invalid options
	}
	h.families = newFamilies(o)
	h.recorder = metric.NewRecorder(h.families)
	return h
}

// SenderCalled is for sender.Config.OnCall. It measures a call of package sender.
func (h *Exporter) SenderCalled(c sender.Call) { h.recorder.SenderCalled(c) }

// Hooks returns hooks for handler.Config.Hooks. Their Validate reports mistakes in the
// configuration; package handler calls it at the start.
func (h *Exporter) Hooks() batch.Hooks {
	all := h.recorder.Hooks()
	all.Validate = func() error { return h.err }
	return all
}

func (o *Config) validate() error {
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
func (h *Exporter) Describe(ch chan<- *prometheus.Desc) {
	for _, f := range h.families.all {
		f.Describe(ch)
	}
}

// Collect implements client_golang's Collector. It reads the gauges when it is called.
func (h *Exporter) Collect(ch chan<- prometheus.Metric) {
	h.recorder.Collect()
	for _, f := range h.families.all {
		f.Collect(ch)
	}
}

// Handler answers scrapes with these metrics and with those of the Go runtime and the
// process. It has its own registry.
func (h *Exporter) Handler() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(h, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
}

// Name returns a metric's name in Prometheus: its family in lower case, the base unit
// (seconds, ratio), and _total for a counter. The series of a histogram add _bucket, _sum
// or _count.
func Name(m *metric.Metric) string {
	var b strings.Builder
	b.WriteString("sqsbatch")
	for _, r := range m.Family {
		if unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	switch m.Unit {
	case metric.Milliseconds, metric.Seconds:
		b.WriteString("_seconds")
	case metric.Percent:
		b.WriteString("_ratio")
	}
	if m.Kind == metric.Counter {
		b.WriteString("_total")
	}
	return b.String()
}

// scale returns the factor that turns a metric's values into the base unit.
func scale(u metric.Unit) float64 {
	switch u {
	case metric.Milliseconds:
		return 1e-3
	case metric.Percent:
		return 1e-2
	}
	return 1
}

// helps are the help texts of families of several metrics. Other families have their
// metric's help text.
var helps = map[string]string{
	"Records":      "Records by outcome. Each record of a batch is counted in one outcome.",
	"Calls":        "Calls to SQS that sqsbatch made, by their operation.",
	"CallEntries":  "Messages in calls to SQS, by the calls' operation; those of repeated calls count again.",
	"CallFailures": "Messages for which a call to SQS failed, and calls that failed as a whole, by operation.",
}

// classic are the upper bounds of the classic buckets, for servers that do not scrape native
// ones. Records take seconds rather than milliseconds. Ages matter up to the retention. 1,800 s
// is a bound because it is the threshold of the alert on age in deploy/prometheus.yaml: between two
// bounds a quantile is only a guess.
var classic = map[*metric.Metric][]float64{
	metric.RecordDuration: {0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900},
	metric.DeadlineUsed:   {0.1, 0.25, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1, 1.5},
	metric.Attempts:       {1, 2, 3, 4, 5, 6, 8, 10, 20, 50, 100},
	metric.MessageAge:     {0.1, 0.5, 1, 5, 15, 60, 300, 900, 1800, 3600, 14400, 86400, 345600, 1209600},
	metric.BatchSize:      {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000},
	metric.SendBatchSize:  {1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
	metric.SendWait:       {0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 10, 60},
}

func (o *Config) buckets(m *metric.Metric) []float64 {
	switch {
	case o.NativeOnly:
		return nil
	case m == metric.RecordDuration && len(o.DurationBuckets) > 0:
		return o.DurationBuckets
	case m == metric.MessageAge && len(o.AgeBuckets) > 0:
		return o.AgeBuckets
	}
	return classic[m]
}

const (
	growth     = 1.1 // ratio of neighboring native buckets: the error of quantiles is at most 5 %
	maxBuckets = 160 // native buckets: more than four powers of ten at that ratio
)

// families is the [metric.Sink]. Its maps are by family.
type families struct {
	all      []prometheus.Collector
	counters map[string]*prometheus.CounterVec
	gauges   map[string]*prometheus.GaugeVec
	values   map[string]*prometheus.HistogramVec
}

func newFamilies(o Config) *families {
	fs := &families{counters: map[string]*prometheus.CounterVec{}, gauges: map[string]*prometheus.GaugeVec{}, values: map[string]*prometheus.HistogramVec{}}
	for _, m := range metric.All {
		opts := prometheus.Opts{Name: Name(m), Help: cmp.Or(helps[m.Family], m.Help)}
		labels := []string{"queue"}
		if m.Label != "" {
			labels = append(labels, m.Label)
		}
		switch {
		case fs.counters[m.Family] != nil: // made for another metric of the family
		case m.Kind == metric.Counter:
			vec := prometheus.NewCounterVec(prometheus.CounterOpts(opts), labels)
			fs.all, fs.counters[m.Family] = append(fs.all, vec), vec
		case m.Kind == metric.Gauge:
			vec := prometheus.NewGaugeVec(prometheus.GaugeOpts(opts), labels)
			fs.all, fs.gauges[m.Family] = append(fs.all, vec), vec
		case m.Kind == metric.Distribution:
			vec := prometheus.NewHistogramVec(prometheus.HistogramOpts{
				Name: opts.Name, Help: opts.Help, Buckets: o.buckets(m),
				NativeHistogramBucketFactor: growth, NativeHistogramMaxBucketNumber: maxBuckets, NativeHistogramMinResetDuration: time.Hour,
			}, labels)
			fs.all, fs.values[m.Family] = append(fs.all, vec), vec
		}
	}
	return fs
}

// Series implements [metric.Sink]. A queue's counters and histograms begin with 0, so that
// counts after the first scrape are an increase. For counts before it,
// deploy/prometheus.yaml also uses the start time of the process. Series without a queue,
// and series of package sender, begin with their first value.
func (fs *families) Series(queue string) metric.Series {
	queue = strings.ToValidUTF8(queue, "\uFFFD") // client_golang panics at invalid UTF-8
	s := &series{families: fs, queue: queue, counters: make([]prometheus.Counter, len(metric.All)), values: make([]prometheus.Observer, len(metric.All))}
	if queue == "" {
		return s
	}
	for i, m := range metric.All {
		switch {
		case m.Send: // for few queues
		case m.Kind == metric.Counter:
			s.counters[i] = s.counter(m)
		case m.Kind == metric.Distribution:
			s.values[i] = s.value(m)
		}
	}
	return s
}

// series has the metrics of a queue. A nil metric is looked up at its first use.
type series struct {
	families *families
	queue    string
	counters []prometheus.Counter
	values   []prometheus.Observer
}

func (s *series) labels(m *metric.Metric) []string {
	if m.Label == "" {
		return []string{s.queue}
	}
	return []string{s.queue, m.Value}
}

func (s *series) counter(m *metric.Metric) prometheus.Counter {
	return s.families.counters[m.Family].WithLabelValues(s.labels(m)...)
}

func (s *series) value(m *metric.Metric) prometheus.Observer {
	return s.families.values[m.Family].WithLabelValues(s.labels(m)...)
}

func (s *series) Add(m *metric.Metric, n float64) {
	if n < 0 {
		return // a counter would panic
	}
	c := s.counters[m.Index()]
	if c == nil {
		c = s.counter(m)
	}
	c.Add(n)
}

func (s *series) Observe(m *metric.Metric, value float64) {
	o := s.values[m.Index()]
	if o == nil {
		o = s.value(m)
	}
	// A value is below 0 only if clocks differ.
	o.Observe(max(value, 0) * scale(m.Unit))
}

func (s *series) Set(m *metric.Metric, value float64) {
	s.families.gauges[m.Family].WithLabelValues(s.labels(m)...).Set(value * scale(m.Unit))
}
