package emf_test

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/internal/testqueue"
	"github.com/sqsbatch/sqsbatch/telemetry/emf"
)

// What the metrics add to an invocation whose handler does nothing, its line
// included: compare "emf" with "none".
func BenchmarkInvocation(b *testing.B) {
	for _, records := range []int{10, 1000} {
		list := make([]batch.Record, records)
		for i := range list {
			list[i] = batch.Record{MessageID: fmt.Sprint(i), QueueARN: orders, Attempt: 1, SentAt: time.Now().Add(-time.Duration(i) * time.Millisecond)}
		}
		payload := testqueue.Event(list)
		for _, name := range []string{"none", "emf"} {
			b.Run(fmt.Sprintf("records=%d/%s", records, name), func(b *testing.B) {
				cfg := handler.Config{Logger: quiet}
				if name == "emf" {
					cfg.Hooks = []any{emf.New(emf.Options{Service: "orders", Writer: io.Discard})}
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

// What the metrics add to a record in a container, where each is a batch; the
// line of an interval is not in it.
func BenchmarkRecordInAContainer(b *testing.B) {
	h := emf.New(emf.Options{Service: "orders", Writer: io.Discard, Interval: time.Hour})
	results := []batch.Result{{Record: &batch.Record{Attempt: 1, SentAt: time.Now().Add(-time.Minute), QueueARN: orders}, Outcome: batch.Succeeded, Started: time.Now(), Allowed: time.Minute}}
	info := batch.BatchInfo{QueueARN: orders, Records: 1}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		results[0].Duration = time.Duration(i%100_000) * 10 * time.Microsecond
		h.BatchSettled(context.Background(), info, results)
	}
	h.Flush(context.Background())
}
