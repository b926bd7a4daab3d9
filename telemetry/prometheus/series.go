package prometheus

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sqsbatch/sqsbatch/telemetry/metric"
)

// Series implements [metric.Sink]. A queue's counters and histograms begin with 0, so that
// counts after the first scrape are an increase. For counts before it,
// deploy/prometheus/rules.yaml also looks at the start of the process. Series that belong
// to no queue, and those of package sender, begin with their first value.
func (fs *families) Series(queue string) metric.Series {
	queue = strings.ToValidUTF8(queue, "\uFFFD") // client_golang panics at invalid UTF-8
	s := &series{families: fs, queue: queue, counters: make([]prometheus.Counter, len(fs.byIndex)), values: make([]prometheus.Observer, len(fs.byIndex))}
	if queue == "" {
		return s
	}
	for i, m := range metric.All {
		switch {
		case m.Send: // few queues have them
		case m.Kind == metric.Counter:
			s.counters[i] = s.counter(m)
		case m.Kind == metric.Distribution:
			s.values[i] = s.value(m)
		}
	}
	return s
}

// series has the metrics of a queue. A nil one is looked up when it is used.
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
	return s.families.byIndex[m.Index()].counters.WithLabelValues(s.labels(m)...)
}

func (s *series) value(m *metric.Metric) prometheus.Observer {
	return s.families.byIndex[m.Index()].values.WithLabelValues(s.labels(m)...)
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
	// It is below 0 only if clocks differ.
	o.Observe(max(value, 0) * scale(m.Unit))
}

func (s *series) Set(m *metric.Metric, value float64) {
	s.families.byIndex[m.Index()].gauges.WithLabelValues(s.labels(m)...).Set(value * scale(m.Unit))
}
