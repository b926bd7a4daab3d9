package view_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/runstats"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/track"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/view"
)

// report is that of a run with something of everything.
func report() *runstats.Report {
	d := func(count int, min, p50, p90, p99, max float64) *runstats.Distribution {
		return &runstats.Distribution{Count: count, Sum: p50 * float64(count), Min: min, P50: p50, P90: p90, P99: p99, Max: max}
	}
	return &runstats.Report{
		Mode: "lambda", Handled: 13, Redriven: 1, Outcomes: map[string]int{track.Succeeded: 7, track.Retry: 4, track.DeadLetter: 2},
		DurationMs: d(13, 0, 0.3, 300.2, 700.1, 700.1), DeadlineUsedPercent: d(13, 0, 0.004, 3.34, 7.78, 99.96), Attempts: d(13, 1, 1, 2, 5, 5), AgeMs: d(13, 5, 1200, 61_000, 7_300_000, 7_300_000),
		Invocations: &runstats.Invocations{Count: 3, Records: d(3, 1, 2, 10, 10, 10), DurationMs: d(3, 1, 2, 700, 700, 700), TimeoutUsedPercent: d(3, 0, 0, 7, 7, 7)},
		Requests:    14, Calls: map[string]runstats.Calls{"ReceiveMessage": {Calls: 9, Messages: 13}, "DeleteMessageBatch": {Calls: 3, Messages: 12, Failed: 2, Errors: 1}, "SendMessageBatch": {Calls: 2, Messages: 2}},
		EMF: &runstats.EMF{Lines: 3, Metrics: map[string]map[string]runstats.EMFMetric{
			"sqsbatch": {
				"RecordsSucceeded": {Unit: "Count", Distribution: *d(3, 1, 2, 3, 3, 3)}, "Running": {Unit: "Count", Distribution: *d(3, 1, 2, 7, 7, 7)},
				"RecordsLastAttempt": {Unit: "Count", Distribution: *d(1, 1, 1, 1, 1, 1)},
			},
			"shop\x1b[2J": {"Parcels": {Unit: "Count", Distribution: *d(7, 1, 2, 3, 3, 3)}, "Weigh\x1bed": {Unit: "Kilograms", Distribution: *d(7, 0.5, 2, 3, 31.25, 31.25)}},
		}},
	}
}

func TestMetricsTable(t *testing.T) {
	var out bytes.Buffer
	v := view.NewText(&out, view.Terminal{})
	v.Header(header)
	out.Reset()
	v.Summary(view.Summary{Progress: track.Progress{Sent: 10, Succeeded: 7, DeadLettered: 3, Retried: 4, Invocations: 3}, Elapsed: 4200 * time.Millisecond, Metrics: report()})
	golden.Check(t, "metrics.txt", out.String())
	for line := range strings.Lines(out.String()) {
		if strings.HasPrefix(line, "duration") && len(line) > 80 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
}

func TestNoMetricsOfNothing(t *testing.T) {
	var out bytes.Buffer
	view.NewText(&out, view.Terminal{}).Summary(view.Summary{Metrics: runstats.New(0).Report(runstats.Run{})})
	if strings.Contains(out.String(), "deliver") {
		t.Errorf("%s", out.String())
	}
}

func TestMetricsInJSON(t *testing.T) {
	var out bytes.Buffer
	v := view.NewJSON(&out, view.NewText(&bytes.Buffer{}, view.Terminal{}))
	v.Summary(view.Summary{Metrics: report()})
	if got := strings.Split(out.String(), "\n"); len(got) != 3 || !strings.HasPrefix(got[0], `{"type":"metrics","metrics":{"mode":"lambda"`) || !strings.HasPrefix(got[1], `{"type":"summary"`) {
		t.Errorf("%s", out.String())
	}
}
