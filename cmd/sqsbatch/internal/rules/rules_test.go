package rules_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/rules"
	"github.com/sqsbatch/sqsbatch/test/docpage"
)

// example reads testdata/ID-NAME.yaml.
func example(t testing.TB, id, name string) string {
	t.Helper()
	return read(t, id+"-"+name+".yaml")
}

// marked is the line of a bad example that ends with the rule's id as a comment.
func marked(text, id string) int {
	return 1 + slices.IndexFunc(strings.Split(text, "\n"), func(line string) bool { return strings.HasSuffix(line, "# "+id) })
}

// For each rule, the bad example has one finding, where it is marked, and the good one has none. The
// fix, if the rule has one, makes the finding go away and leaves a template. findings.txt has
// what is said.
func TestRules_Examples(t *testing.T) {
	var said strings.Builder
	ran := 0 // -run may choose some, and a rule may fail
	for _, rule := range rules.Rules() {
		t.Run(rule.ID, func(t *testing.T) {
			if got := checkText(t, example(t, rule.ID, "good")).Findings; len(got) > 0 {
				t.Errorf("good.yaml: %s %v", got[0].ID, got)
			}
			bad := example(t, rule.ID, "bad")
			found := checkText(t, bad).Findings
			if len(found) != 1 || found[0].ID != rule.ID || found[0].Pos.Line != marked(bad, rule.ID) || found[0].Severity != rule.Severity {
				t.Fatalf("bad.yaml: %+v, want %s in line %d", found, rule.ID, marked(bad, rule.ID))
			}
			f := found[0]
			line := []rune(strings.Split(bad, "\n")[f.Pos.Line-1])
			fmt.Fprintf(&said, "%s `%s`: %s\n", rule.ID, string(line[f.Pos.Col-1:f.EndCol-1]), f.Message)
			if f.Fix != nil {
				fmt.Fprintln(&said, "  fix:", f.Fix.Says)
				fixed, err := f.Fix.Apply([]byte(bad))
				golden.OK(t, err)
				if left := checkText(t, string(fixed)).Findings; slices.ContainsFunc(left, func(f rules.Finding) bool { return f.ID == rule.ID }) {
					t.Errorf("after the fix: %v", left)
				}
			}
			ran++
		})
	}
	if ran < len(rules.Rules()) {
		return
	}
	const file = "testdata/findings.txt"
	docpage.RequireCurrent(t, file, docpage.Read(t, file), said.String(), *golden.Update)
}

// Ids, titles and reasons are complete, and each example is of a rule. Rules of containers may be
// about the toolkit, Kubernetes or KEDA, of which AWS says nothing.
func TestRules_AreDescribed(t *testing.T) {
	var ids []string
	for _, r := range rules.Rules() {
		if slices.Contains(ids, r.ID) || r.Title == "" || r.Page == "" && r.ID > "SB1" && r.ID[2] != '4' || !strings.HasSuffix(r.Why, ".") || strings.HasSuffix(r.Title, ".") {
			t.Errorf("%+v", r)
		}
		ids = append(ids, r.ID)
	}
	files, err := filepath.Glob("testdata/SB*")
	golden.OK(t, err)
	for _, f := range files {
		if id, _, _ := strings.Cut(filepath.Base(f), "-"); !slices.Contains(ids, id) {
			t.Errorf("%s is of no rule", f)
		}
	}
}

// The pages of docs/lint describe each rule, with the change from the bad example to the good one.
func TestThePagesHaveTheRules(t *testing.T) {
	sections := map[string]*strings.Builder{}
	for _, r := range rules.Rules() {
		page, _, _ := strings.Cut(r.Document(), "#")
		if sections[page] == nil {
			sections[page] = &strings.Builder{}
		}
		section(t, sections[page], r)
	}
	for page, text := range sections {
		docpage.RequireSection(t, "../../../../docs/"+page, "rules", text.String(), *golden.Update)
	}
}

func fixable(t *testing.T, r rules.Info) bool {
	return find(t, example(t, r.ID, "bad"), r.ID).Fix != nil
}

func section(t *testing.T, out *strings.Builder, r rules.Info) {
	fix := ""
	if fixable(t, r) {
		fix = ", with a fix"
	}
	fmt.Fprintf(out, "\n## %s\n\n**%s** (%s%s). %s\n", r.ID, r.Title, r.Severity, fix, r.Why)
	if r.Page != "" {
		fmt.Fprintf(out, "AWS: \"%s\".\n", r.Page)
	}
	if fix != "" {
		return // the command shows it
	}
	bad := strings.ReplaceAll(example(t, r.ID, "bad"), " # "+r.ID, "") // the mark of the finding
	diff := rules.Diff(r.ID, []byte(bad), []byte(example(t, r.ID, "good")))
	_, diff, _ = strings.Cut(diff, "@@\n") // without the names of the files and the line numbers
	diff = hunk.ReplaceAllString(diff, " …\n")
	diff = behind.ReplaceAllString(diff, "$1$2") // what stands above a change says where it is
	diff = above.ReplaceAllString(diff, "$1$2")
	if strings.Count(diff, "\n") > 9 {
		fmt.Fprintf(out, "[A template that is right](../../cmd/sqsbatch/internal/rules/testdata/%s-good.yaml).\n", r.ID)
		return
	}
	fmt.Fprintf(out, "\n```diff\n%s```\n", diff)
}

// above are lines over those that stand next to a change.
var above = regexp.MustCompile(`(?m)(\A|^ …\n)(?: .*\n)+?( .*\n[+-])`)

var behind = regexp.MustCompile(`(?m)(^[+-].*\n)(?:^ (?:[^…\n].*)?\n)+(\z|^ …\n)`)

var hunk = regexp.MustCompile(`(?m)^@@.*@@\n`)
