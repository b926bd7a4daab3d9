package prometheus

import (
	"context"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/telemetry/metric"
	"github.com/sqsbatch/sqsbatch/telemetry/prometheus"
)

// scraped is what a server takes: values of series, and native histograms.
func scraped(t *testing.T, metrics *prometheus.Exporter, accept string) (values map[string]float64, natives map[string]*histogram.Histogram) {
	t.Helper()
	r := httptest.NewRequest("GET", "/metrics", nil)
	r.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	metrics.Handler().ServeHTTP(w, r)
	p, err := textparse.New(w.Body.Bytes(), w.Header().Get("Content-Type"), nil, textparse.ParserOptions{})
	if err != nil {
		t.Fatal(err)
	}
	values, natives = map[string]float64{}, map[string]*histogram.Histogram{}
	for {
		entry, err := p.Next()
		if err == io.EOF {
			return values, natives
		}
		if err != nil {
			t.Fatal(err)
		}
		var l labels.Labels
		switch entry {
		case textparse.EntrySeries:
			_, _, value := p.Series()
			p.Labels(&l)
			values[l.String()] = value
		case textparse.EntryHistogram:
			_, _, h, _ := p.Histogram()
			p.Labels(&l)
			natives[l.Get("__name__")] = h
		}
	}
}

// A server that asks for native histograms takes no classic buckets.
func TestWhatAServerTakes(t *testing.T) {
	metrics := prometheus.New(prometheus.Config{})
	var results []batch.Result
	for i := range 100 {
		results = append(results, batch.Result{Record: &batch.Record{Attempt: 1}, Outcome: batch.Succeeded, Started: time.Now(), Duration: time.Duration(i) * 100 * time.Millisecond})
	}
	metrics.Hooks().BatchSettled(context.Background(), batch.BatchInfo{QueueARN: "orders"}, results)
	name := prometheus.Name(metric.RecordDuration)
	const succeeded = `{__name__="sqsbatch_records_total", outcome="succeeded", queue="orders"}`

	values, natives := scraped(t, metrics, "text/plain;version=0.0.4")
	if values[`{__name__="`+started+`"}`] == 0 {
		t.Errorf("there is no %s, which alerts need", started)
	}
	if len(natives) != 0 || values[succeeded] != 100 || values[`{__name__="`+name+`_bucket", le="1.0", queue="orders"}`]+values[`{__name__="`+name+`_bucket", le="1", queue="orders"}`] != 11 {
		t.Errorf("as text: %d native histograms, %v", len(natives), values)
	}
	values, natives = scraped(t, metrics, "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited")
	h := natives[name]
	if h == nil || values[succeeded] != 100 {
		t.Fatalf("as protobuf: native histograms %v, %v", natives, values)
	}
	if err := h.Validate(); err != nil || h.Count != 100 || h.Schema != 3 || h.Sum != 495 {
		t.Errorf("%v: %v", h, err)
	}
	for series := range values {
		if strings.Contains(series, name+"_bucket") {
			t.Errorf("as protobuf there is %s, too", series)
		}
	}
}
