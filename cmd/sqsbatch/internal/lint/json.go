package lint

import (
	"encoding/json"
	"io"
	"slices"

	rules "github.com/sqsbatch/sqsbatch/internal/lint"
	"github.com/sqsbatch/sqsbatch/internal/template"
)

// The lines of --output json.
type (
	// placeFields are where a line is about.
	placeFields struct {
		File      string `json:"file"`
		Stack     string `json:"stack,omitempty"` // of the CDK
		Line      int    `json:"line,omitempty"`
		Column    int    `json:"column,omitempty"`
		EndColumn int    `json:"endColumn,omitempty"`
		Resource  string `json:"resource,omitempty"`
	}
	findingFields struct {
		Rule     string `json:"rule"`
		Severity string `json:"severity"`
		placeFields
		Message string `json:"message"`
		Why     string `json:"why"`
		Page    string `json:"page"`
	}
	findingLine struct {
		Type string `json:"type"` // "finding"
		findingFields
		Fix *fixFields `json:"fix,omitempty"`
	}
	fixFields struct {
		Says string `json:"says"`
		Diff string `json:"diff"`
	}
	fixedLine struct {
		Type string `json:"type"` // "fixed"
		findingFields
		Says string `json:"says"`
	}
	suppressedLine struct {
		Type string `json:"type"` // "suppressed"
		findingFields
		Reason string `json:"reason"`
		ByLine int    `json:"byLine"`
	}
	unknownLine struct {
		Type string `json:"type"` // "unknown"
		placeFields
		Rules   []string `json:"rules"` // empty: all of the resource
		Message string   `json:"message"`
	}
	fileLine struct {
		Type string `json:"type"` // "unreadable" or "note"
		placeFields
		Message string `json:"message"`
	}
	summaryLine struct {
		Type       string `json:"type"` // "summary"
		Files      int    `json:"files"`
		Errors     int    `json:"errors"`
		Warnings   int    `json:"warnings"`
		Notes      int    `json:"notes"`
		NotShown   int    `json:"notShown"`
		Fixed      int    `json:"fixed"`
		Suppressed int    `json:"suppressed"`
		Unknown    int    `json:"unknown"`
		Unreadable int    `json:"unreadable"`
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
	n := o.tally(files)
	return enc.Encode(summaryLine{
		"summary", n.files, n.errors, n.warnings, n.notes, n.hidden, n.fixed, n.suppressed, n.unknown, n.unreadable,
	})
}

func (f *file) jsonLines(o *options) (lines []any) {
	for _, x := range f.fixed {
		lines = append(lines, fixedLine{"fixed", f.fields(x), x.Fix.Says})
	}
	for _, x := range o.shown(f) {
		line := findingLine{Type: "finding", findingFields: f.fields(x)}
		if x.Fix != nil {
			line.Fix = &fixFields{x.Fix.Says, x.Fix.Diff(f.path, f.src)}
		}
		lines = append(lines, line)
	}
	for _, s := range f.Suppressed {
		lines = append(lines, suppressedLine{"suppressed", f.fields(s.Finding), s.Reason, s.By.Line})
	}
	for _, u := range f.Unknown {
		lines = append(lines, unknownLine{"unknown", f.place(u.Pos, u.EndCol, u.Resource), append([]string{}, u.Rules...), u.Message})
	}
	for _, note := range slices.Concat(f.notes, f.details) {
		lines = append(lines, fileLine{"note", f.place(template.Pos{}, 0, ""), note})
	}
	if f.err != nil {
		lines = append(lines, fileLine{"unreadable", f.place(template.Pos{}, 0, ""), f.err.Error()})
	}
	return lines
}

func (f *file) fields(x rules.Finding) findingFields {
	return findingFields{x.ID, string(x.Severity), f.place(x.Pos, x.EndCol, x.Resource), x.Message, x.Why, page(x.Info)}
}

func (f *file) place(at template.Pos, end int, resource string) placeFields {
	return placeFields{f.path, f.stack, at.Line, at.Col, end, resource}
}
