package simulate

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"os"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/model"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
)

// page has the page's own files, and uPlot's.
//
//go:embed page
var page embed.FS

var pageTemplate = template.Must(template.ParseFS(page, "page/page.html"))

// A plotData is a plot, as page.js reads it.
type plotData struct {
	Title    string       `json:"title"`
	X        []float64    `json:"x"`                  // seconds, or indexes of Category
	Category []string     `json:"category,omitempty"` // values of the setting that differs
	Name     string       `json:"name,omitempty"`     // of that setting
	Series   []lineData   `json:"series"`
	Troubles [][2]float64 `json:"troubles,omitempty"` // from and until, in seconds
}

type lineData struct {
	Name   string    `json:"name"`
	Unit   string    `json:"unit,omitempty"` // "s", "$" or "/s"; each unit has an axis
	Dashed bool      `json:"dashed,omitempty"`
	Values []float64 `json:"values"`
}

// A pageRun is a run on the page.
type pageRun struct {
	Title string
	Rows  []row
}

// A pageTable is the table of runs.
type pageTable struct {
	Title, Best string
	Columns     []string
	Rows        [][]string
}

// A pageView is what the page shows.
type pageView struct {
	Title, Command, Licence, Policy string
	Style                           template.CSS
	Script                          template.JS
	Plots                           []plotData
	Summary                         string // of the only run
	Findings                        []string
	Runs                            []pageRun
	Table                           *pageTable
	Assumptions                     []string
}

// file returns the text of a file of the page.
func file(name string) string {
	text, err := page.ReadFile("page/" + name)
	if err != nil {
		panic(err) // it is embedded
	}
	return string(text)
}

// hash returns the hash of a script or a style for a content security policy.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// writePage writes the page of --html. It needs no server, and makes no request.
func (c *comparison) writePage(path string, args []string) error {
	text, err := c.page(args)
	if err == nil {
		err = os.WriteFile(path, text, 0o644)
	}
	if err != nil {
		return fmt.Errorf("--html: %w", err)
	}
	return nil
}

func (c *comparison) page(args []string) ([]byte, error) {
	typed := "sqsbatch"
	for _, arg := range args {
		typed += " " + show.Quote(arg)
	}
	style := file("uplot/uPlot.min.css") + "\n" + file("page.css")
	script := file("uplot/uPlot.iife.min.js") + "\n" + file("page.js")
	v := pageView{
		Title: c.runs[0].stack.name(), Command: typed, Licence: file("uplot/LICENSE"),
		Policy: "default-src 'none'; style-src " + hash(style) + "; script-src " + hash(script) + "; base-uri 'none'; form-action 'none'",
		Style:  template.CSS(style), Script: template.JS(script),
		Assumptions: c.runs[0].report.Assumptions,
	}
	if len(c.runs) == 1 {
		r := c.runs[0]
		v.Plots = r.plots()
		v.Summary = r.summary()
		for _, f := range c.findings {
			text := f.Text
			if f.Try != "" {
				text += fmt.Sprintf(" With %s: %s.", f.Try, f.Then)
			}
			v.Findings = append(v.Findings, text)
		}
		v.Runs = []pageRun{{Title: "In figures", Rows: append(r.about(), r.rows()...)}}
	} else {
		v.Plots = c.plots()
		titles, rows := c.table()
		v.Table = &pageTable{Title: fmt.Sprintf("%d runs", len(c.runs)), Best: c.verdict(), Columns: titles, Rows: rows}
		for _, r := range c.runs {
			v.Runs = append(v.Runs, pageRun{Title: r.title, Rows: append([]row{{"messages", []string{r.summary()}}}, r.rows()...)})
		}
	}
	var out bytes.Buffer
	err := pageTemplate.Execute(&out, v)
	return out.Bytes(), err
}

// The plots of a run, each with the series that are read together. Those that are 0 all the time
// are left out.
var panels = []struct {
	title string
	lines []panelLine
}{
	{"Messages in a second", []panelLine{
		{"sent", "/s", func(s model.Sample, every float64) float64 { return float64(s.Sent) / every }},
		{"handled", "/s", func(s model.Sample, every float64) float64 { return float64(s.Handled) / every }},
		{"failed", "/s", func(s model.Sample, every float64) float64 { return float64(s.Failed) / every }},
	}},
	{"Messages in the queue", []panelLine{
		{"visible", "", func(s model.Sample, _ float64) float64 { return float64(s.Visible) }},
		{"in flight", "", func(s model.Sample, _ float64) float64 { return float64(s.InFlight) }},
		{"delayed", "", func(s model.Sample, _ float64) float64 { return float64(s.Delayed) }},
	}},
	{"Age of the oldest message", []panelLine{{"age", "s", func(s model.Sample, _ float64) float64 { return s.Age }}}},
	{"Invocations or busy slots", []panelLine{
		{"busy", "", func(s model.Sample, _ float64) float64 { return float64(s.Concurrency) }},
		{"throttled", "", func(s model.Sample, _ float64) float64 { return float64(s.Throttles) }},
		{"containers", "", func(s model.Sample, _ float64) float64 { return float64(s.Tasks) }},
	}},
	{"Dead letters", []panelLine{{"dead letters", "", func(s model.Sample, _ float64) float64 { return float64(s.DeadLetters) }}}},
}

type panelLine struct {
	name, unit string
	value      func(s model.Sample, every float64) float64
}

// plots returns the plots of a run over time.
func (r *run) plots() (list []plotData) {
	var x []float64
	for _, s := range r.report.Samples {
		x = append(x, s.At)
	}
	var troubles [][2]float64
	for _, t := range r.variant.scenario.Troubles {
		troubles = append(troubles, [2]float64{t.From.Seconds(), min(t.Until, r.variant.scenario.For).Seconds()})
	}
	for _, p := range panels {
		d := plotData{Title: p.title, X: x, Troubles: troubles}
		for _, l := range p.lines {
			line, largest := lineData{Name: l.name, Unit: l.unit}, 0.0
			for _, s := range r.report.Samples {
				v := l.value(s, r.report.Every)
				line.Values, largest = append(line.Values, v), max(largest, v)
			}
			if largest > 0 {
				d.Series = append(d.Series, line)
			}
		}
		if len(d.Series) > 0 {
			list = append(list, d)
		}
	}
	return list
}

// plots returns the plots of a comparison: the age and the cost of each run, and the age over time
// if there are few.
func (c *comparison) plots() []plotData {
	one := plotData{Title: "Age and cost", Name: c.varied(), Series: []lineData{{Name: "age at most", Unit: "s"}, {Name: "cost", Unit: "$", Dashed: true}}}
	over := plotData{Title: "Age of the oldest message"}
	for i, r := range c.runs {
		one.X, one.Category = append(one.X, float64(i)), append(one.Category, c.short(r))
		one.Series[0].Values = append(one.Series[0].Values, r.report.Peaks.Age.Value)
		one.Series[1].Values = append(one.Series[1].Values, r.report.Cost.Total)
		line := lineData{Name: c.short(r), Unit: "s"}
		over.X = nil
		for _, s := range r.report.Samples {
			over.X, line.Values = append(over.X, s.At), append(line.Values, s.Age)
		}
		over.Series = append(over.Series, line)
	}
	if len(c.runs) > 6 { // as many as there are colours
		return []plotData{one}
	}
	return []plotData{one, over}
}
