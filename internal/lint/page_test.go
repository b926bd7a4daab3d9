package lint_test

import (
	"flag"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/internal/docpage"
	"github.com/sqsbatch/sqsbatch/internal/lint"
)

var update = flag.Bool("update", false, "write the rules into docs/lint.md")

// chapters are the pages of docs/lint by the beginning of their rules' ids.
var chapters = []struct{ prefix, page string }{
	{"SB0", "suppressions"}, {"SB1", "mappings"}, {"SB2", "queues"}, {"SB3", "permissions"}, {"SB5", "alarms"},
}

func pageOf(t *testing.T, id string) string {
	for _, c := range chapters {
		if strings.HasPrefix(id, c.prefix) {
			return c.page
		}
	}
	t.Fatalf("no page is for %s", id)
	return ""
}

// docs/lint.md lists the rules as they are, and the pages of docs/lint describe each, with the
// change from bad.yaml to good.yaml.
func TestThePagesHaveTheRules(t *testing.T) {
	var table strings.Builder
	table.WriteString("| rule | severity | what is wrong | fix |\n| --- | --- | --- | --- |\n")
	sections := map[string]*strings.Builder{}
	for _, r := range lint.Rules() {
		fix, page := "–", pageOf(t, r.ID)
		if r.Fixable {
			fix = "yes"
		}
		fmt.Fprintf(&table, "| [%s](lint/%s.md#%s) | %s | %s | %s |\n", r.ID, page, strings.ToLower(r.ID), r.Severity, r.Title, fix)
		if sections[page] == nil {
			sections[page] = &strings.Builder{}
		}
		section(t, sections[page], r)
	}
	docpage.RequireSection(t, "../../docs/lint.md", "rules", table.String(), *update)
	for page, text := range sections {
		docpage.RequireSection(t, "../../docs/lint/"+page+".md", "rules", text.String(), *update)
	}
}

func section(t *testing.T, out *strings.Builder, r lint.Info) {
	fmt.Fprintf(out, "\n## %s\n\n**%s** (%s). %s\n", r.ID, r.Title, r.Severity, r.Why)
	if r.Page != "" {
		fmt.Fprintf(out, "AWS: \"%s\".\n", r.Page)
	}
	if r.Fixable {
		out.WriteString("There is a fix.\n")
	}
	diff := lint.Diff(r.ID, []byte(unmarked(example(t, r.ID, "bad"), r.ID)), []byte(example(t, r.ID, "good")))
	_, diff, _ = strings.Cut(diff, "@@\n") // without the names of the files and the line numbers
	diff = hunk.ReplaceAllString(diff, " …\n")
	fmt.Fprintf(out, "\n```diff\n%s```\n", diff)
}

var hunk = regexp.MustCompile(`(?m)^@@.*@@\n`)

// unmarked is bad.yaml without the comment that says where the finding is.
func unmarked(text, id string) string { return strings.ReplaceAll(text, " # "+id, "") }
