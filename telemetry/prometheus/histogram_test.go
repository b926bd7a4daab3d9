package prometheus_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	client "github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/sqsbatch/sqsbatch/telemetry/metric"
	"github.com/sqsbatch/sqsbatch/telemetry/prometheus"
)

// histogram is what a server that scrapes native histograms is given.
func histogram(t *testing.T, metrics *prometheus.Hook, m *metric.Metric) *dto.Histogram {
	t.Helper()
	registry := client.NewRegistry()
	registry.MustRegister(metrics)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == prometheus.Name(m) {
			return f.GetMetric()[0].GetHistogram()
		}
	}
	t.Fatalf("there is no %s", prometheus.Name(m))
	return nil
}

func bounds(h *dto.Histogram) (list []float64) {
	for _, b := range h.GetBucket() {
		list = append(list, b.GetUpperBound())
	}
	return list
}

// Every distribution has native buckets, and classic ones for older servers.
func TestHistogramsHaveBothKindsOfBuckets(t *testing.T) {
	both, native := prometheus.New(prometheus.Options{}), prometheus.New(prometheus.Options{NativeOnly: true})
	own := prometheus.New(prometheus.Options{DurationBuckets: []float64{1, 2}, AgeBuckets: []float64{3}})
	for _, metrics := range []*prometheus.Hook{both, native, own} {
		everything(metrics)
	}
	distributions := 0
	for _, m := range metric.All {
		if m.Kind != metric.Distribution {
			continue
		}
		distributions++
		for name, metrics := range map[string]*prometheus.Hook{"both": both, "native": native} {
			h := histogram(t, metrics, m)
			if math.Pow(2, math.Pow(2, -float64(h.GetSchema()))) > 1.1 || len(h.GetPositiveSpan()) == 0 || h.GetSampleCount() == 0 {
				t.Errorf("%s, %s: schema %d, %d spans", m.Name, name, h.GetSchema(), len(h.GetPositiveSpan()))
			}
			if classic := bounds(h); (len(classic) > 0) != (name == "both") || !slices.IsSorted(classic) {
				t.Errorf("%s, %s: classic buckets %v", m.Name, name, classic)
			}
		}
	}
	if distributions < 5 {
		t.Errorf("%d distributions", distributions)
	}
	if got := bounds(histogram(t, own, metric.RecordDuration)); !slices.Equal(got, []float64{1, 2}) {
		t.Errorf("DurationBuckets are %v", got)
	}
	if got := bounds(histogram(t, own, metric.MessageAge)); !slices.Equal(got, []float64{3}) {
		t.Errorf("AgeBuckets are %v", got)
	}
}

func TestBucketsAreValidated(t *testing.T) {
	for want, o := range map[string]prometheus.Options{
		"DurationBuckets[1] is 1": {DurationBuckets: []float64{1, 1}}, "DurationBuckets[0] is 0": {DurationBuckets: []float64{0, 1}},
		"AgeBuckets[0] is NaN": {AgeBuckets: []float64{math.NaN()}}, "AgeBuckets[2] is 2": {AgeBuckets: []float64{1, 3, 2}},
	} {
		metrics := prometheus.New(o)
		if err := metrics.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		everything(metrics) // no panic
	}
	if err := prometheus.New(prometheus.Options{DurationBuckets: []float64{1, 2}}).Validate(); err != nil {
		t.Error(err)
	}
}

// The names are part of what dashboards and rules are made of.
func TestNames(t *testing.T) {
	for m, want := range map[*metric.Metric]string{
		metric.RecordsAbandoned: "sqsbatch_records_total", metric.RecordDuration: "sqsbatch_record_duration_seconds",
		metric.DeadlineUsed: "sqsbatch_deadline_used_ratio", metric.MessageAge: "sqsbatch_message_age_seconds", metric.Attempts: "sqsbatch_attempts",
		metric.DeleteFailures: "sqsbatch_call_failures_total", metric.OldestRunning: "sqsbatch_oldest_running_seconds", metric.Slots: "sqsbatch_slots",
		metric.RecordsLost: "sqsbatch_records_lost_total",
	} {
		if got := prometheus.Name(m); got != want {
			t.Errorf("%s is %s, want %s", m.Name, got, want)
		}
	}
	families := map[string]string{}
	for _, m := range metric.All {
		if family, taken := families[prometheus.Name(m)]; taken && family != m.Family {
			t.Errorf("%s and %s are both %s", family, m.Family, prometheus.Name(m))
		}
		families[prometheus.Name(m)] = m.Family
	}
}
