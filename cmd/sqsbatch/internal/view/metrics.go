package view

import (
	"cmp"
	"fmt"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/track"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
	"github.com/sqsbatch/sqsbatch/telemetry/metric"
)

// metrics shows the figures of the run, nothing if there are no records and no requests.
func (t *Text) metrics(r *track.Report) {
	if r == nil || r.Handled+r.Requests == 0 {
		return
	}
	t.line("")
	t.line(t.paint(bold, show.Count(r.Handled, "delivery", "deliveries")+": ") + cmp.Or(outcomes(r), "none"))
	rows := []distributionRow{
		{"duration", r.DurationMs, inMs},
		{"deadline used", r.DeadlineUsedPercent, inPercent},
		{"attempt", r.Attempts, plain},
		{"age", r.AgeMs, inMs},
	}
	if i := r.Invocations; i != nil {
		rows = append(rows,
			distributionRow{"batch size", i.Records, plain},
			distributionRow{"invocation", i.DurationMs, inMs},
			distributionRow{"timeout used", i.TimeoutUsedPercent, inPercent})
	}
	t.distributions(rows)
	nameWidth, _ := t.tableWidths()
	t.lineAt(nameWidth, pad("calls", nameWidth)+calls(r))
	if r.EMF != nil {
		t.emf(r.EMF)
	}
}

func outcomes(r *track.Report) string {
	var parts []string
	for _, o := range track.Outcomes {
		if n := r.Outcomes[o]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, o))
		}
	}
	text := strings.Join(parts, ", ")
	if r.Redriven > 0 {
		text += fmt.Sprintf("; SQS moved %d to the dead-letter queue", r.Redriven)
	}
	return text
}

func calls(r *track.Report) string {
	parts := []string{show.Count(r.Requests, "request")}
	for _, operation := range slices.Sorted(maps.Keys(r.Calls)) {
		c := r.Calls[operation]
		part := fmt.Sprintf("%s %d", operation, c.Calls)
		if c.Errors > 0 {
			part += fmt.Sprintf(", %d of them failed", c.Errors)
		}
		if c.Failed > 0 {
			part += fmt.Sprintf(", %s refused", show.Count(c.Failed, "message"))
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " · ")
}

// tableWidths returns the widths of the column of names, and of each column of figures.
func (t *Text) tableWidths() (name, figure int) {
	if t.term.Narrow() {
		return 15, 7
	}
	return 18, 8
}

type distributionRow struct {
	name string
	d    *track.Distribution
	show func(float64) string
}

func (t *Text) distributions(rows []distributionRow) {
	rows = slices.DeleteFunc(rows, func(r distributionRow) bool { return r.d == nil })
	if len(rows) == 0 {
		return
	}
	nameWidth, width := t.tableWidths()
	head := strings.Repeat(" ", nameWidth)
	for _, name := range []string{"n", "min", "p50", "p90", "p99", "max"} {
		head += fmt.Sprintf("%*s", width, name)
	}
	t.line(t.paint(Aside, head))
	for _, r := range rows {
		line := pad(show.Fit(show.Clean(r.name), nameWidth-1), nameWidth) + fmt.Sprintf("%*d", width, r.d.Count)
		for _, x := range []float64{r.d.Min, r.d.P50, r.d.P90, r.d.P99, r.d.Max} {
			line += fmt.Sprintf("%*s", width, r.show(x))
		}
		t.line(line)
	}
}

func inMs(ms float64) string     { return short(time.Duration(ms * float64(time.Millisecond))) }
func inSeconds(s float64) string { return inMs(s * 1000) }
func inPercent(p float64) string { return fmt.Sprintf("%.3g%%", p) }
func plain(x float64) string     { return fmt.Sprintf("%.4g", x) }

// emf shows the function's metrics, except metrics that this tool measures itself.
func (t *Text) emf(e *track.EMF) {
	var sums []string
	var rows []distributionRow
	for _, namespace := range slices.Sorted(maps.Keys(e.Metrics)) {
		for _, name := range slices.Sorted(maps.Keys(e.Metrics[namespace])) {
			m := e.Metrics[namespace][name]
			known := metric.ByName(name)
			switch {
			case known != nil && measuredHere(known):
			case known != nil && known.Kind == metric.Gauge:
				sums = append(sums, show.Clean(name)+" at most "+plain(m.Max))
			case known != nil && known.Kind == metric.Counter, known == nil && m.Unit == "Count":
				sums = append(sums, show.Clean(name)+" "+plain(m.Sum))
			default:
				rows = append(rows, distributionRow{name, &m.Distribution, showing(m.Unit)})
			}
		}
	}
	if len(sums)+len(rows) == 0 {
		return
	}
	nameWidth, _ := t.tableWidths()
	t.lineAt(nameWidth, pad("its own (EMF)", nameWidth)+strings.Join(sums, " · "))
	t.distributions(rows)
}

// measuredHere reports whether this tool measures a metric of telemetry/emf itself.
func measuredHere(m *metric.Metric) bool {
	switch m.Family {
	case "Records", "Calls", "CallEntries", "CallFailures":
		return true
	}
	return slices.Contains([]*metric.Metric{
		metric.RecordDuration, metric.DeadlineUsed, metric.Attempts, metric.MessageAge, metric.BatchSize,
		metric.ColdStarts, metric.Warnings, metric.SeriousWarnings,
	}, m)
}

func showing(unit string) func(float64) string {
	switch unit {
	case "Milliseconds":
		return inMs
	case "Seconds":
		return inSeconds
	case "Percent":
		return inPercent
	}
	return plain
}
