package lint

import (
	"encoding/json"
	"io"
	"slices"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/rules"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
)

// The lines of --output json. A [tally] is the last one.
type (
	// placeFields are where a line is about.
	placeFields struct {
		File      string `json:"file"`
		Stack     string `json:"stack,omitempty"` // of the CDK
		Line      int    `json:"line,omitempty"`
		Column    int    `json:"column,omitempty"`
		EndColumn int    `json:"endColumn,omitempty"`
		Resource  string `json:"resource,omitempty"`
		Attribute string `json:"attribute,omitempty"` // of Terraform
	}
	findingLine struct {
		Type     string `json:"type"` // "finding", "fixed" or "suppressed"
		Rule     string `json:"rule"`
		Severity string `json:"severity"`
		placeFields
		Message string     `json:"message"`
		Why     string     `json:"why"`
		Page    string     `json:"page"`
		Fix     *fixFields `json:"fix,omitempty"`
		Says    string     `json:"says,omitempty"`   // of "fixed"
		Reason  string     `json:"reason,omitempty"` // of "suppressed"
		ByLine  int        `json:"byLine,omitempty"`
	}
	fixFields struct {
		Says string `json:"says"`
		Diff string `json:"diff"`
	}
	noteLine struct {
		Type string `json:"type"` // "unknown", "unreadable" or "note"
		placeFields
		Rules   []string `json:"rules,omitzero"` // of "unknown"; empty: all of the resource
		Message string   `json:"message"`
	}
)

// writeJSON writes one object a line.
func writeJSON(out io.Writer, o *options, files []*file) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for _, f := range files {
		for _, line := range f.jsonLines(o) {
			if err := enc.Encode(line); err != nil {
				return err
			}
		}
	}
	return enc.Encode(o.tally(files))
}

func (f *file) jsonLines(o *options) (lines []any) {
	for _, x := range f.fixed {
		line := f.findingLine("fixed", x)
		line.Says = x.Fix.Says
		lines = append(lines, line)
	}
	for _, x := range o.shown(f) {
		line := f.findingLine("finding", x.Finding)
		if x.Fix != nil {
			line.Fix = &fixFields{x.Fix.Says, x.Fix.Diff(f.path, f.src)}
		}
		lines = append(lines, line)
	}
	for _, s := range f.Suppressed {
		line := f.findingLine("suppressed", s.Finding)
		line.Reason, line.ByLine = s.Reason, s.By.Line
		lines = append(lines, line)
	}
	for _, u := range f.Unknown {
		lines = append(lines, noteLine{"unknown", f.place(u.Pos, u.EndCol, u.Resource, u.Attribute), append([]string{}, u.Rules...), u.Message})
	}
	for _, note := range slices.Concat(f.notes, f.details) {
		lines = append(lines, noteLine{Type: "note", placeFields: f.place(template.Pos{}, 0, "", ""), Message: note})
	}
	if f.err != nil {
		lines = append(lines, noteLine{Type: "unreadable", placeFields: f.place(template.Pos{}, 0, "", ""), Message: f.err.Error()})
	}
	return lines
}

func (f *file) findingLine(kind string, x rules.Finding) findingLine {
	return findingLine{
		Type: kind, Rule: x.ID, Severity: string(x.Severity), placeFields: f.place(x.Pos, x.EndCol, x.Resource, x.Attribute),
		Message: x.Message, Why: x.Why, Page: x.Page,
	}
}

func (f *file) place(at template.Pos, end int, resource, attribute string) placeFields {
	return placeFields{f.path, f.stack, at.Line, at.Col, end, resource, attribute}
}
