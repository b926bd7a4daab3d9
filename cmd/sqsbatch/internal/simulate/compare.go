package simulate

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/model"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
)

// maxRuns bounds the runs of one command.
const maxRuns = 100

// A comparison is one run, or several that differ in their template or in settings.
type comparison struct {
	o        *options
	runs     []*run
	findings []finding // of the only run
	best     int       // with --find: the index of the cheapest run that keeps the bounds, -1 if none does
}

// compare returns the runs of the templates and of --vary, without their reports.
func (o *options) compare() (*comparison, error) {
	axes, err := o.axes()
	if err != nil {
		return nil, err
	}
	paths := o.templates
	if len(paths) == 0 {
		paths = []string{""}
	}
	c := &comparison{o: o, best: -1}
	for _, path := range paths {
		s, err := o.readStack(path)
		if err != nil {
			return nil, err
		}
		for _, settings := range axes {
			v, err := o.scenarioOf(s, settings...)
			if err != nil {
				return nil, err
			}
			c.runs = append(c.runs, &run{title: title(s, settings, len(paths) > 1), settings: settings, stack: s, variant: v})
		}
	}
	if len(c.runs) > maxRuns {
		return nil, usagef("--vary asks for %d runs; at most %d are made", len(c.runs), maxRuns)
	}
	return c, nil
}

// title returns what differs from other runs.
func title(s *stack, settings []assignment, several bool) string {
	var parts []string
	if several {
		parts = append(parts, s.name())
	}
	for _, a := range settings {
		parts = append(parts, a.String())
	}
	return strings.Join(parts, " ")
}

// The values that --find tries if there is no --vary.
var tried = map[string]string{
	modeLambda: "MaximumConcurrency=2,3,5,7,10,15,20,30,50,70,100,150,200,300,500,700,1000",
	modePoll:   "Tasks=1,2,3,4,5,7,10,15,20,30,50,70,100",
}

// axes returns all combinations of the values of --vary, one without settings if there is none.
func (o *options) axes() (all [][]assignment, err error) {
	all = [][]assignment{nil}
	vary := o.vary
	if o.find && len(vary) == 0 {
		vary = []string{tried[o.mode]}
	}
	for _, text := range vary {
		name, values, ok := strings.Cut(text, "=")
		if !ok || name == "" || values == "" {
			return nil, usagef("--vary is %q; it must be written as NAME=A,B,C", text)
		}
		var next [][]assignment
		for _, before := range all {
			for value := range strings.SplitSeq(values, ",") {
				next = append(next, append(slices.Clone(before), assignment{name, value}))
			}
		}
		if all = next; len(all) > maxRuns {
			return nil, usagef("--vary asks for %d runs; at most %d are made", len(all), maxRuns)
		}
	}
	return all, nil
}

// choose sets the best run of --find.
func (c *comparison) choose() {
	if !c.o.find {
		return
	}
	for i, r := range c.runs {
		if c.keeps(r.report) && (c.best < 0 || cheaper(r.report, c.runs[c.best].report)) {
			c.best = i
		}
	}
}

// cheaper reports whether a costs less than b. Hours of containers come first, because they cost more
// than requests.
func cheaper(a, b *model.Report) bool {
	if a.Totals.TaskHours != b.Totals.TaskHours {
		return a.Totals.TaskHours < b.Totals.TaskHours
	}
	return a.Cost.Total < b.Cost.Total
}

// keeps reports whether a run keeps the bounds of --find. One that leaves more than 1 % of the
// messages does not: it is cheap because it does not do its work.
func (c *comparison) keeps(r *model.Report) bool {
	return r.Totals.Left*100 <= r.Totals.Sent && (c.o.age == 0 || r.Peaks.Age.Value <= c.o.age.Seconds()) && (!c.o.bounded || r.Totals.Healthy <= c.o.dead)
}

// columns are those of the table of runs, after their titles.
var columns = []struct {
	name  string
	value func(r *model.Report) string
}{
	{"age at most", func(r *model.Report) string { return age(r.Peaks.Age.Value) }},
	{"latency p99", func(r *model.Report) string { return age(r.Totals.Latency.P99) }},
	{"backlog at most", func(r *model.Report) string { return show.Number(int(r.Peaks.Backlog.Value)) }},
	{"left", func(r *model.Report) string { return show.Number(r.Totals.Left) }},
	{"dead (healthy)", func(r *model.Report) string {
		return show.Number(r.Totals.DeadLetters) + " (" + show.Number(r.Totals.Healthy) + ")"
	}},
	{"throttles", func(r *model.Report) string { return show.Number(r.Totals.Throttles) }},
	{"busy at most", func(r *model.Report) string { return show.Number(int(r.Peaks.Concurrency.Value)) }},
	{"cost", func(r *model.Report) string { return dollars(r.Cost.Total) }},
}

// table returns the titles and the rows of the table of runs.
func (c *comparison) table() (titles []string, rows [][]string) {
	titles = []string{c.varied()}
	for _, col := range columns {
		titles = append(titles, col.name)
	}
	for _, r := range c.runs {
		row := []string{c.short(r)}
		for _, col := range columns {
			row = append(row, col.value(r.report))
		}
		rows = append(rows, row)
	}
	return titles, rows
}

// varied returns the name of the only setting that differs, or "run".
func (c *comparison) varied() string {
	if s := c.runs[0].settings; len(s) == 1 && len(c.o.templates) < 2 {
		return s[0].name
	}
	return "run"
}

// enough reports whether the runs of --find that follow r are the same: each has a higher limit, and r
// did not reach its own.
func (c *comparison) enough(r *run) bool {
	limit, _, _ := analysis{r, &r.variant.scenario, r.report}.limit()
	return c.o.find && len(c.o.vary) == 0 && int(r.report.Peaks.Concurrency.Value) < limit
}

// short returns a run's title without the name of the only setting.
func (c *comparison) short(r *run) string {
	return strings.TrimPrefix(r.title, c.varied()+"=")
}

// verdict says what --find found.
func (c *comparison) verdict() string {
	if !c.o.find || c.best < 0 {
		return ""
	}
	r := c.runs[c.best]
	var bounds []string
	if c.o.age > 0 {
		bounds = append(bounds, "an age of at most "+brief(c.o.age))
	}
	if c.o.bounded {
		bounds = append(bounds, "at most "+strconv.Itoa(c.o.dead)+" healthy dead letters")
	}
	return fmt.Sprintf("%s is the cheapest of %d that keeps %s: %s for %s.", r.title, len(c.runs), strings.Join(bounds, " and "), dollars(r.report.Cost.Total), brief(c.o.length))
}

// writeJSON writes the runs as one JSON object.
func (c *comparison) writeJSON(w io.Writer) error {
	type entry struct {
		Title    string            `json:"title"`
		Settings map[string]string `json:"settings"`
		Keeps    *bool             `json:"keeps,omitempty"` // the bounds of --find
		Findings []finding         `json:"findings,omitempty"`
		*model.Report
	}
	out := struct {
		Runs []entry `json:"runs"`
		Best *int    `json:"best,omitempty"` // index of the run that --find found
	}{}
	for _, r := range c.runs {
		e := entry{Title: r.title, Settings: map[string]string{}, Report: r.report, Findings: c.findings}
		for _, a := range r.settings {
			e.Settings[a.name] = a.value
		}
		if c.o.find {
			keeps := c.keeps(r.report)
			e.Keeps = &keeps
		}
		out.Runs = append(out.Runs, e)
	}
	if c.best >= 0 {
		out.Best = &c.best
	}
	text, err := json.MarshalIndent(out, "", "  ")
	if err == nil {
		_, err = w.Write(append(text, '\n'))
	}
	return err
}
