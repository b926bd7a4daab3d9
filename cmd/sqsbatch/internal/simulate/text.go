package simulate

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/model"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/rules"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/view"
)

// A row is a line of a report: a name and what belongs to it.
type row struct {
	Name  string
	Lines []string
}

// clock returns a time since the beginning of the run.
func clock(at float64) string {
	d := time.Duration(at * float64(time.Second)).Round(time.Second)
	if d%time.Minute == 0 {
		return fmt.Sprintf("%d:%02d", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60)
}

// age returns a number of seconds as a duration.
func age(s float64) string { return brief(time.Duration(s * float64(time.Second))) }

// about returns what is simulated.
func (r *run) about() (rows []row) {
	add := func(name, format string, args ...any) {
		rows = append(rows, row{name, []string{fmt.Sprintf(format, args...)}})
	}
	s, o := &r.variant.scenario, r.stack.o
	d := r.variant.deployment
	if m := s.Mapping; m != nil {
		text := fmt.Sprintf("%s on Lambda: batches of %d", d.Function.LogicalID, m.BatchSize)
		if m.Window > 0 {
			text += ", window " + brief(m.Window)
		}
		if m.MaximumConcurrency > 0 {
			text += fmt.Sprintf(", MaximumConcurrency %d", m.MaximumConcurrency)
		}
		if m.MaximumPollers > 0 {
			text += fmt.Sprintf(", %d to %d provisioned pollers", m.MinimumPollers, m.MaximumPollers)
		}
		if s.Function.Reserved > 0 {
			text += fmt.Sprintf(", reserved concurrency %d", s.Function.Reserved)
		}
		add("function", "%s, timeout %s, %d MB", text, brief(s.Function.Timeout), s.Function.MemoryMB)
	} else {
		limit, _, _ := analysis{r, s, r.report}.limit()
		add("function", "%s in containers: %s with %s", d.Function.LogicalID, tasks(s.Containers), counted(limit/max(1, mostTasks(s.Containers)), "slot"))
	}
	queue := fmt.Sprintf("%s: visibility %s", d.Queue.Name, brief(s.Queue.Visibility))
	if s.Queue.MaxReceiveCount > 0 {
		queue += fmt.Sprintf(", a dead letter after %s", counted(s.Queue.MaxReceiveCount, "receive"))
	} else {
		queue += ", without a dead-letter queue"
	}
	add("queue", "%s", queue)
	if len(r.variant.variables) > 0 {
		add("variables", "%s", strings.Join(r.variant.variables, " "))
	}
	var sent []string
	for _, text := range []string{o.rate, o.load} {
		if text != "" {
			sent = append(sent, text)
		}
	}
	for _, b := range o.given.load.Bursts {
		sent = append(sent, fmt.Sprintf("%s at once at %s", show.Number(b.Messages), clock(b.At.Seconds())))
	}
	add("load", "%s; messages of %s, for %s", strings.Join(sent, ", "), o.size, brief(o.length))
	work := o.duration
	if o.fail != "" {
		work += "; of these fail: " + o.fail
	}
	add("records", "%s", work)
	for _, t := range o.given.troubles {
		add("goes wrong", "%s, %s to %s", trouble(t), clock(t.From.Seconds()), clock(t.Until.Seconds()))
	}
	return rows
}

// mostTasks returns the largest number of containers.
func mostTasks(c *model.Containers) int {
	if c.Scaling != nil {
		return c.Scaling.Max
	}
	return c.Tasks
}

// tasks returns the number of containers as text.
func tasks(c *model.Containers) string {
	if c.Scaling != nil {
		return fmt.Sprintf("%d to %d, one for each %s,", c.Scaling.Min, c.Scaling.Max, counted(c.Scaling.MessagesPerTask, "message"))
	}
	return counted(c.Tasks, "task")
}

// trouble returns the kind of a trouble with its value.
func trouble(t model.Trouble) string {
	text := string(t.Kind)
	switch t.Kind {
	case model.Slow:
		text += fmt.Sprintf(" ×%g", t.Factor)
	case model.Aborts:
		text += " for " + brief(t.After)
	case model.Kills:
		text += " each " + brief(t.Every)
	case model.Throttle:
		text += fmt.Sprintf(" to %d", t.Concurrency)
	}
	if t.Share > 0 && t.Share < 1 {
		text += fmt.Sprintf(" of %g%%", t.Share*100)
	}
	return text
}

// peak returns when a value was highest, and when that was over.
func peak(p model.Peak, value string) string {
	if p.Value == 0 {
		return "none"
	}
	text := fmt.Sprintf("at most %s, at %s", value, clock(p.At))
	if p.Over >= 0 {
		return text + ", over at " + clock(p.Over)
	}
	return text + ", not over at the end"
}

// summary returns what became of the messages.
func (r *run) summary() string {
	t := r.report.Totals
	text := fmt.Sprintf("%s messages sent: %s handled", show.Number(t.Sent), show.Number(t.Handled))
	if t.DeadLetters > 0 {
		text += fmt.Sprintf(", %s dead letters (%s of them healthy)", show.Number(t.DeadLetters), show.Number(t.Healthy))
	}
	for _, part := range []struct {
		n    int
		what string
	}{{t.Dropped, "dropped"}, {t.Expired, "expired"}, {t.Left, "left in the queue"}} {
		if part.n > 0 {
			text += fmt.Sprintf(", %s %s", show.Number(part.n), part.what)
		}
	}
	return text
}

// most returns a value of a plot with its unit.
func most(v float64, unit string) string {
	if unit == "s" {
		return age(v)
	}
	return show.Number(int(v+0.5)) + unit
}

// rows returns what happened.
func (r *run) rows() (rows []row) {
	add := func(name string, lines ...string) { rows = append(rows, row{name, lines}) }
	t, p := r.report.Totals, r.report.Peaks
	add("backlog", peak(p.Backlog, show.Number(int(p.Backlog.Value))+" visible"))
	add("age", peak(p.Age, age(p.Age.Value)))
	flight := peak(p.InFlight, fmt.Sprintf("%s of %s", show.Number(int(p.InFlight.Value)), show.Number(quota)))
	if p.AtQuota > 0 {
		flight += fmt.Sprintf("; the quota held back receives for %s, from %s to %s", age(p.AtQuota), clock(p.QuotaFrom), clock(p.QuotaUntil))
	}
	add("in flight", flight)
	if r.variant.scenario.Mapping != nil {
		add("invocations", fmt.Sprintf("%s, at most %s at a time, at %s; %s failed, %s throttled", show.Number(t.Invocations), show.Number(int(p.Concurrency.Value)), clock(p.Concurrency.At), show.Number(t.Errors), show.Number(t.Throttles)))
	} else {
		add("containers", fmt.Sprintf("at most %s, with %s busy at %s", counted(int(p.Tasks.Value), "task"), counted(int(p.Concurrency.Value), "slot"), clock(p.Concurrency.At)))
	}
	add("attempts", r.attempts())
	q := t.Latency
	add("latency", fmt.Sprintf("half within %s, 90%% %s, 99%% %s, all %s", age(q.P50), age(q.P90), age(q.P99), age(q.Max)))
	var rings []string
	for _, ring := range r.report.Rings {
		until := "the end"
		if ring.Until >= 0 {
			until = clock(ring.Until)
		}
		rings = append(rings, fmt.Sprintf("%s from %s to %s", ring.Alarm, clock(ring.From), until))
	}
	switch n := len(r.variant.scenario.Alarms); {
	case n == 0:
		rings = []string{"the template has none on this queue"}
	case len(rings) == 0:
		rings = []string{fmt.Sprintf("none of %d rings", n)}
	}
	add("alarms", rings...)
	add("cost", r.cost())
	return rows
}

func (r *run) attempts() string {
	t := r.report.Totals
	text := fmt.Sprintf("%s, %s retries", show.Number(t.Attempts), show.Number(t.Retries))
	for _, part := range []struct {
		n    int
		what string
	}{{t.NotStarted, "not started"}, {t.Skipped, "skipped"}, {t.Abandoned, "abandoned"}, {t.Throttled, "throttled"}, {t.Duplicates, "duplicates"}} {
		if part.n > 0 {
			text += fmt.Sprintf(", %s %s", show.Number(part.n), part.what)
		}
	}
	return text
}

func (r *run) cost() string {
	c, t := r.report.Cost, r.report.Totals
	text := fmt.Sprintf("%s: %s requests %s", dollars(c.Total), show.Number(t.Requests.Billed), dollars(c.Requests))
	if r.variant.scenario.Mapping != nil {
		text += fmt.Sprintf(", invocations %s, %s GB-seconds %s", dollars(c.Invocations), show.Number(int(t.GBSeconds)), dollars(c.GBSeconds))
	}
	if t.TaskHours > 0 && c.Tasks == 0 {
		text += fmt.Sprintf(", %.1f hours of containers without a price", t.TaskHours)
	}
	if t.Sent > 0 {
		text += fmt.Sprintf("; %s a million messages", dollars(c.Total/float64(t.Sent)*1e6))
	}
	return text
}

// A printer writes text to a terminal or a file.
type printer struct {
	w    io.Writer
	term view.Terminal
}

// nameWidth is the width of the names of rows.
const nameWidth = 13

func (p printer) width() int {
	if p.term.Width != nil {
		return max(40, p.term.Width()-1)
	}
	return 110
}

func (p printer) line(format string, args ...any) { fmt.Fprintf(p.w, format+"\n", args...) }

// indented writes a text after a name, in lines that fit.
func (p printer) indented(name, text string) {
	for i, line := range show.Wrap(show.Clean(text), p.width()-nameWidth) {
		if i > 0 {
			name = ""
		}
		p.line("%s%s", p.term.Paint(view.Aside, fmt.Sprintf("%-*s", nameWidth, name)), line)
	}
}

func (p printer) rows(rows []row) {
	for _, r := range rows {
		for i, line := range r.Lines {
			name := r.Name
			if i > 0 {
				name = ""
			}
			p.indented(name, line)
		}
	}
}

// notes writes what is wrong with the settings, and what is left out, before the run.
func (p printer) notes(r *run) {
	for _, f := range r.variant.lint {
		name := "lint warning"
		if f.Severity == rules.Error {
			name = "lint error"
		}
		first, _, _ := strings.Cut(f.Message, ". ")
		p.indented(name, fmt.Sprintf("%s: %s (%s)", f.Pos, first, f.ID))
	}
	if n := len(r.variant.lint); n > 0 {
		p.indented("", fmt.Sprintf("`sqsbatch lint %s` has the reasons and fixes.", r.stack.name()))
	}
	for _, w := range r.variant.warnings {
		p.indented("note", w)
	}
}

// comparison writes a run, or the table of several.
func (p printer) comparison(c *comparison) {
	if len(c.runs) == 1 {
		p.run(c.runs[0], c.findings)
		return
	}
	p.rows([]row{{"template", []string{c.runs[0].stack.name()}}})
	p.rows(slices.DeleteFunc(c.runs[0].about(), func(r row) bool { // these may differ
		return slices.Contains([]string{"function", "queue", "variables"}, r.Name)
	}))
	p.line("")
	titles, rows := c.table()
	widths := make([]int, len(titles))
	for _, row := range append([][]string{titles}, rows...) {
		for i, text := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(text))
		}
	}
	for i, row := range append([][]string{titles}, rows...) {
		line := fmt.Sprintf("%-*s", widths[0], show.Clean(row[0]))
		for k, text := range row[1:] {
			line += fmt.Sprintf("  %*s", widths[k+1], text)
		}
		switch {
		case i == 0:
			line = p.term.Paint(view.Aside, line)
		case i-1 == c.best:
			line = p.term.Paint(view.Good, line)
		}
		p.line("%s", line)
	}
	if text := c.verdict(); text != "" {
		p.line("")
		p.indented("found", text)
	}
	p.assumptions(c.runs[0].report)
}

func (p printer) run(r *run, list []finding) {
	p.rows(append([]row{{"template", []string{r.stack.name()}}}, r.about()...))
	p.line("")
	p.indented("result", r.summary())
	p.rows(r.rows())
	p.line("")
	width := min(plotWidth, p.width()-nameWidth-12)
	for _, of := range r.plots() {
		for _, s := range of.Series {
			largest := slices.Max(s.Values)
			p.line("%s%s %s", p.term.Paint(view.Aside, fmt.Sprintf("%-*s", nameWidth, s.Name)), plot(s.Values, largest, width), most(largest, s.Unit))
		}
	}
	p.line("%s%s", strings.Repeat(" ", nameWidth), axis(r.stack.o.length, width))
	for i, f := range list {
		if i == 0 {
			p.line("")
		}
		name := ""
		if i == 0 {
			name = "findings"
		}
		p.indented(name, f.Text)
		if f.Try != "" {
			p.indented("", fmt.Sprintf("With %s: %s.", f.Try, f.Then))
		}
	}
	p.assumptions(r.report)
}

func (p printer) assumptions(r *model.Report) {
	for i, text := range r.Assumptions {
		name := ""
		if i == 0 {
			p.line("")
			name = "assumed"
		}
		p.indented(name, text)
	}
}
