package cli

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
)

const (
	// helpWidth is the usual width of a terminal.
	helpWidth = 80
	// textColumn is the first column of the text of a flag or a command.
	textColumn = 21
	// notes is the annotation of a command with the text below its flags.
	notes = "notes"
)

// Notes sets the text of a command's help below its flags. Empty lines separate paragraphs. A
// paragraph that begins with "## " is a title, and one that begins with white space keeps its
// lines.
func Notes(cmd *cobra.Command, text string) {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[notes] = text
}

// A Part is one of a command's help.
type Part struct {
	Title string // "" for none
	Rows  []Row
	Text  string // paragraphs, below the rows
	Code  string // lines, below the text

	indented bool // the text
}

// A row explains a flag or a command.
type Row struct{ Name, Text string }

// Parts returns a command's help, for all its forms: text, Markdown and manual page.
func Parts(cmd *cobra.Command) []Part {
	cmd.InitDefaultHelpFlag()
	list := []Part{{Text: cmp.Or(cmd.Long, cmd.Short)}}
	usage := cmd.UseLine()
	if cmd.HasSubCommands() {
		usage = cmd.CommandPath() + " COMMAND [flags]"
	}
	list = append(list, Part{Title: "Usage", Code: usage})
	if cmd.HasSubCommands() {
		list = append(list, Part{Title: "Commands", Rows: commandRows(cmd), Text: "sqsbatch help " + strings.TrimPrefix(name(cmd)+" COMMAND", " ") + " explains a command and its flags."})
	}
	list = append(list, flagSections(cmd)...)
	if cmd.Example != "" {
		list = append(list, Part{Title: "Examples", Code: cmd.Example})
	}
	for _, p := range Paragraphs(cmd.Annotations[notes]) {
		if title, ok := strings.CutPrefix(p, "## "); ok {
			list = append(list, Part{Title: title, indented: true})
			continue
		}
		list[len(list)-1].Text += p + "\n\n"
	}
	return list
}

func commandRows(cmd *cobra.Command) (rows []Row) {
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" {
			rows = append(rows, Row{c.Name(), c.Short})
		}
	}
	return rows
}

// flagSections groups the flags by their headings, in the order of definition.
func flagSections(cmd *cobra.Command) (list []Part) {
	at := map[string]int{}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		title := "Flags"
		if given := f.Annotations[heading]; len(given) > 0 {
			title = given[0]
		}
		if _, ok := at[title]; !ok {
			at[title] = len(list)
			list = append(list, Part{Title: title})
		}
		s := &list[at[title]]
		s.Rows = append(s.Rows, flagRow(f))
	})
	return list
}

func flagRow(f *pflag.Flag) Row {
	name := strings.TrimSpace("--" + f.Name + " " + placeholder(f))
	if f.NoOptDefVal != "" && f.Value.Type() != "bool" {
		name = "--" + f.Name + "[=" + placeholder(f) + "]"
	}
	text := f.Usage
	switch f.DefValue {
	case "", "false", "0", "0s":
	default:
		first, rest, several := strings.Cut(text, "\n")
		text = fmt.Sprintf("%s (default %s)", first, f.DefValue)
		if several {
			text += "\n" + rest
		}
	}
	return Row{name, text}
}

// Help returns the output of `sqsbatch help COMMAND`, in lines of 80 columns.
func Help(cmd *cobra.Command) string {
	var out strings.Builder
	for i, s := range Parts(cmd) {
		if i > 0 {
			out.WriteByte('\n')
		}
		if s.Title != "" {
			writeLines(&out, "", s.Title+":")
		}
		for _, r := range s.Rows {
			writeRow(&out, r)
		}
		if len(s.Rows) > 0 && s.Text != "" {
			out.WriteByte('\n')
		}
		indent := ""
		if s.indented {
			indent = "  "
		}
		for n, p := range Paragraphs(s.Text) {
			if n > 0 {
				out.WriteByte('\n')
			}
			writeLines(&out, indent, p)
		}
		for line := range strings.Lines(s.Code) {
			out.WriteString("  " + strings.TrimSuffix(line, "\n") + "\n")
		}
	}
	return out.String()
}

// writeRow writes a name, and its text at textColumn.
func writeRow(out *strings.Builder, r Row) {
	var text strings.Builder
	indent := strings.Repeat(" ", textColumn)
	for line := range strings.Lines(r.Text) {
		writeLines(&text, indent, strings.TrimSuffix(line, "\n"))
	}
	start := "  " + r.Name
	if n := utf8.RuneCountInString(start); n < textColumn {
		out.WriteString(start + text.String()[n:])
		return
	}
	out.WriteString(start + "\n" + text.String())
}

// writeLines writes a paragraph in indented lines. A paragraph that begins with white space
// is code and keeps its lines.
func writeLines(out *strings.Builder, indent, paragraph string) {
	if strings.HasPrefix(paragraph, " ") || strings.HasPrefix(paragraph, "\t") {
		out.WriteString(strings.ReplaceAll(paragraph, "\t", "  ") + "\n")
		return
	}
	for _, line := range show.Wrap(paragraph, helpWidth-len(indent)) {
		out.WriteString(indent + line + "\n")
	}
}

// Paragraphs returns the paragraphs of text, which empty lines separate.
func Paragraphs(text string) []string {
	text = strings.Trim(text, "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n\n")
}
