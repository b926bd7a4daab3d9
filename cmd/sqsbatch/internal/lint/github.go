package lint

import (
	"fmt"
	"io"
	"strings"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/rules"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
)

// writeGitHub writes annotations ("Workflow commands for GitHub Actions"), and a summary
// for the log of the step.
func writeGitHub(out io.Writer, o *options, files []*file) error {
	var b strings.Builder
	for _, f := range files {
		uri := relative(o.base, f.path)
		for _, x := range o.shown(f) {
			message := x.addressed() + "\n" + reason(x.Info)
			if x.Fix != nil {
				message += "\nFix: " + x.Fix.Says
			}
			b.WriteString(annotation(level(x.Severity), uri, x.Pos, x.EndCol, x.ID+": "+x.Title, message))
		}
		if f.err != nil {
			b.WriteString(annotation("error", uri, template.Pos{}, 0, "not checked", f.err.Error()))
		}
	}
	b.WriteString((&writer{}).summary(o, o.tally(files)) + "\n")
	_, err := io.WriteString(out, b.String())
	return err
}

func level(s rules.Severity) string {
	if s == rules.Note {
		return "notice"
	}
	return string(s)
}

var (
	escapeData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	escapeProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

func annotation(level, file string, at template.Pos, end int, title, message string) string {
	where := ""
	if at.Line > 0 {
		where = fmt.Sprintf(",line=%d,endLine=%[1]d", at.Line)
	}
	if at.Line > 0 && at.Col > 0 {
		where += fmt.Sprintf(",col=%d", at.Col)
		if end > at.Col {
			where += fmt.Sprintf(",endColumn=%d", end)
		}
	}
	return fmt.Sprintf("::%s file=%s%s,title=%s::%s\n", level, escapeProperty.Replace(file), where,
		escapeProperty.Replace(title), escapeData.Replace(message))
}
