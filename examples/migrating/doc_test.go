package migrating_test

import (
	"flag"
	"go/format"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/internal/docpage"
)

var update = flag.Bool("update", false, "write the files into docs/migrating.md")

const (
	root = "../.."
	page = root + "/docs/migrating.md"
)

// The page shows these files as they are. After a change of one:
//
//	go test ./examples/migrating -update
func TestThePageShowsTheseFiles(t *testing.T) {
	text := docpage.Read(t, page)
	want, _ := docpage.WithFiles(t, page, text)
	docpage.RequireCurrent(t, page, text, want, *update)
}

// Every example is in the page: in its table, its main.go as it is, and in a
// command that can be copied.
func TestThePageHasEveryExample(t *testing.T) {
	text := docpage.Read(t, page)
	for _, main := range glob(t, "*/main.go") {
		dir := filepath.ToSlash(filepath.Dir(main))
		for _, want := range []string{
			"| [" + dir + "](../examples/migrating/" + dir + ") |",
			"<!-- file: ../examples/migrating/" + dir + "/main.go -->",
			" ./examples/migrating/" + dir + " # ",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("the page does not have %q", want)
			}
		}
	}
}

// Every event of another shape is in a command, and what the commands and the
// table name is there.
func TestThePageHasEveryEvent(t *testing.T) {
	text := docpage.Read(t, page)
	for _, event := range glob(t, root+"/events/shapes/*.json") {
		name := strings.TrimPrefix(filepath.ToSlash(event), root+"/")
		if !strings.Contains(text, " --event "+name+" ") {
			t.Errorf("no command has --event %s", name)
		}
		if !strings.Contains(text, "](../"+name+")") {
			t.Errorf("%s is not in the table", name)
		}
	}
	named := regexp.MustCompile(`(?: --event |\]\(\.\./)([a-z/0-9.-]+)`).FindAllStringSubmatch(text, -1)
	if len(named) < 20 {
		t.Errorf("%d files are named", len(named))
	}
	for _, m := range named {
		if _, err := os.Stat(filepath.Join(root, strings.TrimRight(m[1], "."))); err != nil {
			t.Errorf("the page names %s: %v", m[1], err)
		}
	}
}

// The table leads to the sections.
func TestTheLinksLeadSomewhere(t *testing.T) {
	text := docpage.Read(t, page)
	anchors := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^##+ (.*)$").FindAllStringSubmatch(text, -1) {
		kept := regexp.MustCompile("[^a-z0-9 -]").ReplaceAllString(strings.ToLower(m[1]), "") // as GitHub makes them
		anchors["#"+strings.ReplaceAll(kept, " ", "-")] = true
	}
	links := regexp.MustCompile(`\]\((#[^)]*)\)`).FindAllStringSubmatch(text, -1)
	if len(links) < 15 {
		t.Errorf("%d links", len(links))
	}
	for _, m := range links {
		if !anchors[m[1]] {
			t.Errorf("no section is %s", m[1])
		}
	}
}

// What is shown as it was before is at least Go, formatted as such.
func TestWhatWasBefore(t *testing.T) {
	text := docpage.Read(t, page)
	shown := regexp.MustCompile("(?s)<!-- file: \\S+ -->\n```go\n.*?```\n")
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```\n").FindAllStringSubmatch(shown.ReplaceAllString(text, ""), -1)
	if len(blocks) < 8 {
		t.Errorf("%d blocks", len(blocks))
	}
	for _, m := range blocks {
		formatted, err := format.Source([]byte(m[1]))
		if err != nil || string(formatted) != m[1] {
			t.Errorf("%v:\n%s\nformatted:\n%s", err, m[1], formatted)
		}
	}
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		t.Fatalf("%s: %v, %v", pattern, found, err)
	}
	return found
}
