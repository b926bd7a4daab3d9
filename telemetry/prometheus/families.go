package prometheus

import (
	"cmp"
	"strings"
	"time"
	"unicode"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sqsbatch/sqsbatch/telemetry/metric"
)

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

// classic are the upper bounds of the classic buckets, for servers that do not scrape
// native ones. Handling a record takes seconds rather than milliseconds. Ages matter up to
// the retention. 1,800 s is the threshold of the alert on age in deploy/prometheus: between
// two bounds a quantile is only a guess.
var classic = map[*metric.Metric][]float64{
	metric.RecordDuration: {0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900},
	metric.DeadlineUsed:   {0.1, 0.25, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1, 1.5},
	metric.Attempts:       {1, 2, 3, 4, 5, 6, 8, 10, 20, 50, 100},
	metric.MessageAge:     {0.1, 0.5, 1, 5, 15, 60, 300, 900, 1800, 3600, 14400, 86400, 345600, 1209600},
	metric.BatchSize:      {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000},
	metric.SendBatchSize:  {1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
	metric.SendWait:       {0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 10, 60},
}

func (o *Options) buckets(m *metric.Metric) []float64 {
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
	growth     = 1.1 // ratio of neighboring native buckets: quantiles are off by 5 % at most
	maxBuckets = 160 // native buckets: four powers of ten and more at that ratio
)

type family struct {
	prometheus.Collector // one of these:

	counters *prometheus.CounterVec
	gauges   *prometheus.GaugeVec
	values   *prometheus.HistogramVec
}

// families is the [metric.Sink].
type families struct {
	all     []*family // each once
	byIndex []*family // by a metric's index
}

func newFamilies(o Options) *families {
	fs := &families{byIndex: make([]*family, len(metric.All))}
	byName := map[string]*family{}
	for i, m := range metric.All {
		f := byName[m.Family]
		if f == nil {
			f = newFamily(m, o)
			byName[m.Family] = f
			fs.all = append(fs.all, f)
		}
		fs.byIndex[i] = f
	}
	return fs
}

func newFamily(m *metric.Metric, o Options) *family {
	opts := prometheus.Opts{Name: Name(m), Help: cmp.Or(helps[m.Family], m.Help)}
	labels := []string{"queue"}
	if m.Label != "" {
		labels = append(labels, m.Label)
	}
	f := &family{}
	switch m.Kind {
	case metric.Counter:
		f.counters = prometheus.NewCounterVec(prometheus.CounterOpts(opts), labels)
		f.Collector = f.counters
	case metric.Gauge:
		f.gauges = prometheus.NewGaugeVec(prometheus.GaugeOpts(opts), labels)
		f.Collector = f.gauges
	case metric.Distribution:
		f.values = prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: opts.Name, Help: opts.Help, Buckets: o.buckets(m),
			NativeHistogramBucketFactor: growth, NativeHistogramMaxBucketNumber: maxBuckets, NativeHistogramMinResetDuration: time.Hour,
		}, labels)
		f.Collector = f.values
	}
	return f
}

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
