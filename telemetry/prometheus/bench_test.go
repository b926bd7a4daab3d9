package prometheus_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/internal/testqueue"
	"github.com/sqsbatch/sqsbatch/telemetry/prometheus"
)

// What the metrics add to a batch whose handler does nothing: compare
// "prometheus" with "none".
func BenchmarkBatch(b *testing.B) {
	for _, records := range []int{1, 10, 1000} {
		list := make([]batch.Record, records)
		for i := range list {
			list[i] = batch.Record{MessageID: fmt.Sprint(i), QueueARN: "arn:aws:sqs:eu-west-1:123456789012:orders", Attempt: 1, SentAt: time.Now().Add(-time.Duration(i) * time.Millisecond)}
		}
		payload := testqueue.Event(list)
		for _, name := range []string{"none", "prometheus"} {
			b.Run(fmt.Sprintf("records=%d/%s", records, name), func(b *testing.B) {
				cfg := handler.Config{Logger: quiet}
				if name == "prometheus" {
					cfg.Hooks = []any{prometheus.New(prometheus.Options{})}
				}
				h, err := handler.New(batch.HandlerFunc(func(context.Context, batch.Record) error { return nil }), cfg)
				if err != nil {
					b.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
				defer cancel()
				b.ReportAllocs()
				for b.Loop() {
					if _, err := h.Invoke(ctx, payload); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*records), "ns/record")
			})
		}
	}
}

// What the metrics add to a record in a container, where each is a batch.
func BenchmarkRecordInAContainer(b *testing.B) {
	metrics := prometheus.New(prometheus.Options{})
	results := []batch.Result{{Record: &batch.Record{Attempt: 1, SentAt: time.Now().Add(-time.Minute)}, Outcome: batch.Succeeded, Started: time.Now(), Allowed: time.Minute}}
	info := batch.BatchInfo{QueueARN: "arn:aws:sqs:eu-west-1:123456789012:orders", Records: 1}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		results[0].Duration = time.Duration(i%100_000) * 10 * time.Microsecond
		metrics.BatchSettled(context.Background(), info, results)
	}
}

// A scrape of one queue.
func BenchmarkScrape(b *testing.B) {
	metrics := prometheus.New(prometheus.Options{})
	everything(metrics)
	h := metrics.Handler()
	b.ReportAllocs()
	for b.Loop() {
		h.ServeHTTP(discard{}, scrapeRequest)
	}
}

var scrapeRequest = httptest.NewRequest("GET", "/metrics", nil)

type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) WriteHeader(int)             {}
