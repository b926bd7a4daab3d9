package migrating_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/test/docpage"
)

const (
	root   = "../.."
	folder = root + "/docs/migrating"
)

// Every example is shown by a page and is in a command, and every event of another
// shape is in the test of an example. test/compat runs the commands.
func TestThePagesRunEveryExample(t *testing.T) {
	var text strings.Builder
	for _, page := range pages(t) {
		text.WriteString(docpage.Read(t, page))
	}
	for _, main := range glob(t, "*/main.go") {
		name := filepath.ToSlash(filepath.Dir(main))
		for _, want := range []string{" ./examples/migrating/" + name + " # ", "<!-- file: ../../examples/migrating/" + name + "/main.go -->"} {
			if !strings.Contains(text.String(), want) {
				t.Errorf("no page has %q", want)
			}
		}
	}
	var tests strings.Builder
	for _, test := range glob(t, "*/main_test.go") {
		tests.WriteString(docpage.Read(t, test))
	}
	for _, event := range glob(t, root+"/events/shapes/*.json") {
		if want := `, "shapes/` + filepath.Base(event) + `"`; !strings.Contains(tests.String(), want) {
			t.Errorf("no test has %s", want)
		}
	}
}

var (
	heading = regexp.MustCompile(`(?m)^## (.*)$`)
	program = regexp.MustCompile("(?s)<!-- file: \\S+ -->\n```go\n.*?```\n")
)

// A reader who knows one page finds the way on every other one.
func TestThePagesHaveOneForm(t *testing.T) {
	const longest = 120 // lines, without the programs
	table := docpage.Read(t, folder+"/README.md")
	for _, page := range pages(t) {
		name := filepath.Base(page)
		if name == "README.md" {
			continue
		}
		text := docpage.Read(t, page)
		var headings []string
		for _, m := range heading.FindAllStringSubmatch(text, -1) {
			headings = append(headings, m[1])
		}
		if want := []string{"Today", "After", "What changes", "Try it"}; !slices.Equal(headings, want) {
			t.Errorf("%s has the headings %q, want %q", name, headings, want)
		}
		if lines := strings.Count(program.ReplaceAllString(text, ""), "\n"); lines > longest {
			t.Errorf("%s has %d lines besides its programs, want at most %d", name, lines, longest)
		}
		if !strings.Contains(table, "("+name+") |\n") {
			t.Errorf("the table of README.md has no row for %s", name)
		}
	}
}

func pages(t *testing.T) []string {
	t.Helper()
	return glob(t, folder+"/*.md")
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		t.Fatalf("%s: %v, %v", pattern, found, err)
	}
	return found
}
