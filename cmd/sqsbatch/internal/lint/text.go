package lint

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/rules"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/view"
)

// textWidth is the width of paragraphs where there is no terminal.
const textWidth = 120

// A writer writes findings for people.
type writer struct {
	strings.Builder
	term view.Terminal
}

// writeText writes findings with their lines, reasons and fixes, and at the end a summary.
func writeText(out io.Writer, term view.Terminal, o *options, files []*file) error {
	w := &writer{term: term}
	for _, f := range files {
		w.file(o, f)
	}
	if o.live {
		w.refused(files)
	}
	if o.live && o.verbose {
		w.WriteString(o.requests + "\n")
	}
	if o.live && len(files) > 1 {
		w.table(o, files)
	}
	w.WriteString(w.summary(o, o.tally(files)) + "\n")
	_, err := io.WriteString(out, w.String())
	return err
}

func (w *writer) file(o *options, f *file) {
	for _, x := range f.fixed {
		fmt.Fprintf(w, "%s %s (%s)\n", w.term.Paint(view.Good, "fixed "+f.name()+":"), show.Clean(x.Fix.Says), x.ID)
	}
	notes := f.notes
	if o.verbose {
		notes = slices.Concat(notes, f.details)
	}
	if f.live != nil {
		w.heading(f)
	}
	for _, note := range notes {
		fmt.Fprintf(w, "%s: %s\n", f.name(), show.Clean(note))
	}
	for _, x := range o.shown(f) {
		w.finding(f, x.Finding)
	}
	if !o.verbose {
		return
	}
	for _, s := range f.Suppressed {
		fmt.Fprintf(w, "%s: %s %s %s\n  suppressed on line %d: %s\n", f.where(s.Pos, s.Resource, s.Attribute), w.term.Paint(view.Aside, "suppressed"),
			s.ID, show.Clean(s.Message), s.By.Line, show.Clean(s.Reason))
	}
	for _, u := range f.Unknown {
		ids := "" // of the rules that did not judge
		if len(u.Rules) > 0 {
			ids = " (" + strings.Join(u.Rules, ", ") + ")"
		}
		fmt.Fprintf(w, "%s: %s %s%s\n", f.where(u.Pos, u.Resource, u.Attribute), w.term.Paint(view.Aside, "unknown"),
			show.Clean(u.Message), w.term.Paint(view.Aside, ids))
	}
}

// writeFixed tells the edits of --fix, and why there are none, next to an output that has
// no place for them.
func writeFixed(out io.Writer, files []*file) {
	for _, f := range files {
		for _, x := range f.fixed {
			fmt.Fprintf(out, "fixed %s: %s (%s)\n", f.name(), show.Clean(x.Fix.Says), x.ID)
		}
		for _, note := range f.notes {
			if strings.HasPrefix(note, notFixed) {
				fmt.Fprintf(out, "%s: %s\n", f.name(), show.Clean(note))
			}
		}
	}
}

// where is "template.yaml:12:7", "plan.json: aws_sqs_queue.orders.redrive_policy" in a plan of
// Terraform, and "orders.RedrivePolicy" of what is deployed.
func (f *file) where(p template.Pos, resource, attribute string) string {
	if p.Line > 0 {
		return fmt.Sprintf("%s:%d:%d", f.name(), p.Line, p.Col)
	}
	name := show.Clean(strings.TrimSuffix(resource+"."+attribute, "."))
	switch {
	case resource == "":
		return f.name()
	case f.live != nil:
		return name
	}
	return f.name() + ": " + name
}

func colour(s rules.Severity) string {
	switch s {
	case rules.Error:
		return view.Bad
	case rules.Warning:
		return view.Waiting
	default:
		return view.Good
	}
}

func (w *writer) finding(f *file, x rules.Finding) {
	stack := ""
	if f.stack != "" {
		stack = w.term.Paint(view.Aside, " [stack "+show.Clean(f.stack)+"]")
	}
	fmt.Fprintf(w, "%s: %s %s%s\n", f.where(x.Pos, x.Resource, x.Attribute),
		w.term.Paint(colour(x.Severity), string(x.Severity)+" "+x.ID), show.Clean(x.Message), stack)
	w.excerpt(f, x)
	w.paragraph("why: ", reason(x.Info))
	switch {
	case x.Fix != nil && f.live != nil: // a command, to copy
		fmt.Fprintf(w, "        %s%s\n", w.term.Paint(view.Aside, "fix: "), show.Clean(x.Fix.Says))
	case x.Fix != nil:
		w.paragraph("fix: ", x.Fix.Says)
		w.diff(x.Fix.Diff(f.path, f.src))
	}
	w.WriteString("\n")
}

// reason says why a rule is there, with AWS's page.
func reason(r rules.Info) string {
	if r.Page != "" {
		return r.Why + " (AWS: " + r.Page + ")"
	}
	return r.Why
}

// excerpt shows the line, with a caret below each character that is wrong.
func (w *writer) excerpt(f *file, x rules.Finding) {
	line := f.line(x.Pos.Line)
	if strings.TrimSpace(line) == "" || x.Pos.Col < 1 {
		return
	}
	runes := []rune(line)
	from := min(x.Pos.Col-1, len(runes))
	to := min(max(x.EndCol-1, from+1), len(runes))
	before, marked, after := show.Clean(string(runes[:from])), show.Clean(string(runes[from:to])), show.Clean(string(runes[to:]))
	number := fmt.Sprintf("%5d", x.Pos.Line)
	margin := w.term.Paint(view.Aside, strings.Repeat(" ", len(number))+" |")
	fmt.Fprintf(w, "%s %s\n", w.term.Paint(view.Aside, number+" |"), before+marked+after)
	fmt.Fprintf(w, "%s %s%s\n", margin, strings.Repeat(" ", utf8.RuneCountInString(before)),
		w.term.Paint(colour(x.Severity), strings.Repeat("^", max(1, utf8.RuneCountInString(marked)))))
}

// paragraph writes text below a finding, in lines that fit.
func (w *writer) paragraph(title, text string) {
	width := textWidth
	if w.term.Width != nil {
		width = max(40, w.term.Width())
	}
	indent := strings.Repeat(" ", 8)
	for i, line := range show.Wrap(show.Clean(text), width-len(indent)-len(title)) {
		if i > 0 {
			title = strings.Repeat(" ", len(title))
		}
		w.WriteString(indent + w.term.Paint(view.Aside, title) + line + "\n")
	}
}

// diff writes the hunks of a diff of one file, whose name stands above.
func (w *writer) diff(text string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "+++ ") {
			continue
		}
		if strings.HasPrefix(strings.TrimSpace(line), "::") {
			line = strings.Replace(line, ":", `\u003a`, 1) // it would be a command in a workflow of GitHub
		}
		colour := ""
		switch {
		case strings.HasPrefix(line, "@@"):
			colour = view.Aside
		case strings.HasPrefix(line, "-"):
			colour = view.Bad
		case strings.HasPrefix(line, "+"):
			colour = view.Good
		}
		w.WriteString(strings.Repeat(" ", 8) + w.term.Paint(colour, show.Clean(strings.TrimSuffix(line, "\r"))) + "\n")
	}
}

// summary is the last line.
func (w *writer) summary(o *options, n tally) string {
	parts := []string{w.amount(n.Errors, "error", rules.Error)}
	if o.severity != string(rules.Error) {
		parts = append(parts, w.amount(n.Warnings, "warning", rules.Warning))
	}
	if o.severity == string(rules.Note) {
		parts = append(parts, w.amount(n.Notes, "note", rules.Note))
	}
	add := func(n int, format string, args ...any) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(n.Fixed, "%d fixed", n.Fixed)
	add(n.Suppressed, "%d suppressed", n.Suppressed)
	add(n.Baseline, "%d in the baseline", n.Baseline)
	add(n.Gone, "%d only in the baseline (--output baseline writes it anew)", n.Gone)
	add(n.Unreadable, "%d not read", n.Unreadable)
	unknown := show.Count(n.Unknown, "place") + " not checked"
	if !o.verbose {
		unknown += " (--verbose lists them)"
	}
	add(n.Unknown, "%s", unknown)
	add(n.NotShown, "%d of lower severity not shown (--severity note shows them)", n.NotShown)
	subject := "template"
	if o.live {
		subject = "queue"
	}
	return show.Count(n.Files, subject) + ": " + strings.Join(parts, ", ")
}

func (w *writer) amount(n int, noun string, s rules.Severity) string {
	if n == 0 {
		return show.Count(n, noun)
	}
	return w.term.Paint(colour(s), show.Count(n, noun))
}
