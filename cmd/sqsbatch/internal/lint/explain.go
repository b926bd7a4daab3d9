package lint

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/rules"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/view"
)

// listRules writes a line for each rule.
func listRules(out io.Writer) error {
	var b strings.Builder
	for _, r := range rules.Rules() {
		fmt.Fprintf(&b, "%s  %-7s  %s\n", r.ID, r.Severity, r.Title)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// explainRule writes all that is known of a rule.
func explainRule(out io.Writer, id string) error {
	all := rules.Rules()
	i := slices.IndexFunc(all, func(r rules.Info) bool { return strings.EqualFold(r.ID, id) })
	if i < 0 {
		return cli.Usagef(command, "--explain %s: there is no such rule; --list-rules lists them", id)
	}
	r := all[i]
	w := &writer{term: view.Detect(out)}
	fmt.Fprintf(w, "%s %s: %s\n", r.ID, r.Severity, r.Title)
	w.paragraph("why: ", reason(r))
	w.paragraph("more: ", home+"/blob/main/docs/"+r.Document())
	_, err := io.WriteString(out, w.String())
	return err
}
