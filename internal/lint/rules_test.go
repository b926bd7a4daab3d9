package lint_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/internal/lint"
	"github.com/sqsbatch/sqsbatch/internal/template"
)

// checkText returns what the rules say about a template.
func checkText(t testing.TB, text string) lint.Result {
	t.Helper()
	tmpl, err := template.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	st, err := tmpl.Stack(template.Options{})
	ok(t, err)
	result, err := lint.Check(st)
	ok(t, err)
	return result
}

// example reads testdata/ID/NAME.yaml.
func example(t testing.TB, id, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", id, name+".yaml"))
	ok(t, err)
	return string(text)
}

// marked is the line of bad.yaml that ends with the rule's id as a comment.
func marked(text, id string) int {
	return 1 + slices.IndexFunc(strings.Split(text, "\n"), func(line string) bool { return strings.HasSuffix(line, "# "+id) })
}

// For each rule, bad.yaml has one finding, where it is marked, and good.yaml has none. The
// fix, if the rule has one, makes the finding go away and leaves a template.
func TestRules_Examples(t *testing.T) {
	for _, rule := range lint.Rules() {
		t.Run(rule.ID, func(t *testing.T) {
			if got := checkText(t, example(t, rule.ID, "good")).Findings; len(got) > 0 {
				t.Errorf("good.yaml: %s %v", got[0].ID, got)
			}
			bad := example(t, rule.ID, "bad")
			found := checkText(t, bad).Findings
			if len(found) != 1 || found[0].ID != rule.ID || found[0].Pos.Line != marked(bad, rule.ID) || found[0].Severity != rule.Severity {
				t.Fatalf("bad.yaml: %+v, want %s in line %d", found, rule.ID, marked(bad, rule.ID))
			}
			line := []rune(strings.Split(bad, "\n")[found[0].Pos.Line-1])
			if from, to := found[0].Pos.Col-1, found[0].EndCol-1; to <= from || to > len(line) || strings.TrimSpace(string(line[from:to])) == "" {
				t.Errorf("marks columns %d to %d of %q", from, to, string(line))
			} else {
				t.Logf("marks %q: %s", string(line[from:to]), found[0].Message)
			}
			if fix := found[0].Fix; (fix != nil) != rule.Fixable {
				t.Errorf("fixable is %v, and the fix %v", rule.Fixable, fix)
			} else if fix != nil {
				fixed, err := fix.Apply([]byte(bad))
				ok(t, err)
				t.Log(fix.Says + "\n" + fix.Diff("bad.yaml", []byte(bad)))
				if left := checkText(t, string(fixed)).Findings; slices.ContainsFunc(left, func(f lint.Finding) bool { return f.ID == rule.ID }) {
					t.Errorf("after the fix: %v", left)
				}
			}
		})
	}
}

// Ids, titles and reasons are complete, and each rule has its directory of examples.
func TestRules_AreDescribed(t *testing.T) {
	var ids []string
	for _, r := range lint.Rules() {
		if slices.Contains(ids, r.ID) || r.Title == "" || r.Page == "" && r.ID > "SB1" || !strings.HasSuffix(r.Why, ".") || strings.HasSuffix(r.Title, ".") {
			t.Errorf("%+v", r)
		}
		ids = append(ids, r.ID)
	}
	dirs, err := os.ReadDir("testdata")
	ok(t, err)
	for _, d := range dirs {
		if strings.HasPrefix(d.Name(), "SB") && !slices.Contains(ids, d.Name()) {
			t.Errorf("testdata/%s is of no rule", d.Name())
		}
	}
	if !slices.IsSorted(ids) {
		t.Errorf("not in order: %v", ids)
	}
}
