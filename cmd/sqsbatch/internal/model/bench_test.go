package model_test

import (
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/model"
)

// twoMillion is three hours with 2,000,000 messages and an outage of 20 minutes.
func twoMillion() model.Scenario {
	return model.Scenario{
		For:      3 * time.Hour,
		Queue:    model.Queue{Visibility: time.Minute, MaxReceiveCount: 5},
		Mapping:  &model.Mapping{ReportBatchItemFailures: true, MaximumConcurrency: 50},
		Function: model.Function{Timeout: 10 * time.Second, MemoryMB: 256},
		Work:     model.Work{Durations: model.Durations{P50: 100 * time.Millisecond, P99: 2 * time.Second}},
		Load:     model.Load{Points: []model.Point{{PerSecond: 2_000_000 / 10_800.}}},
		Troubles: []model.Trouble{{Kind: model.Errors, From: 30 * time.Minute, Until: 50 * time.Minute}},
	}
}

// BenchmarkRun has 2,000,000 messages in three hours of queue time.
func BenchmarkRun(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		r, err := model.Run(b.Context(), twoMillion())
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(r.Totals.Sent), "messages/op")
		b.Logf("%+v %+v %+v", r.Totals, r.Peaks, r.Cost)
	}
}
