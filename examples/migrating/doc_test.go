package main

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

// Every example is in a command, every file is shown, and every event of another shape is in a
// test. test/compat runs the commands.
func TestThePagesRunEveryExample(t *testing.T) {
	var text strings.Builder
	for _, page := range pages(t) {
		text.WriteString(docpage.Read(t, page))
	}
	requireText := func(text, want string) {
		if !strings.Contains(text, want) {
			t.Errorf("no page or test has %q", want)
		}
	}
	for name := range examples {
		requireText(text.String(), " --env EXAMPLE="+name+" ")
	}
	for _, file := range glob(t, "*.go") {
		if !strings.HasSuffix(file, "_test.go") && file != "main.go" && file != "standin.go" {
			requireText(text.String(), "<!-- file: ../../examples/migrating/"+file+" -->")
		}
	}
	for _, event := range glob(t, root+"/events/shapes/*.json") {
		requireText(docpage.Read(t, "main_test.go"), `, "shapes/`+filepath.Base(event)+`"`)
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
