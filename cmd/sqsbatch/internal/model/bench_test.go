//go:build unix

package model_test

import (
	"runtime/debug"
	"syscall"
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

// BenchmarkRun has 2,000,000 messages in three hours of queue time. It also reports the time of the
// processors, which does not depend on what else the machine does, and the memory of the process at its
// highest.
func BenchmarkRun(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(200)) // as in the command
	b.ReportAllocs()
	var began, ended syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &began)
	for b.Loop() {
		r, err := model.Run(b.Context(), twoMillion())
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(r.Totals.Sent), "messages/op")
	}
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &ended)
	seconds := func(u syscall.Rusage) float64 {
		return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
	}
	b.ReportMetric((seconds(ended)-seconds(began))/float64(b.N), "cpu-s/op")
	b.ReportMetric(float64(ended.Maxrss)/1024, "MB-peak")
}
