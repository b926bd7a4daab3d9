package migrating_test

import (
	"flag"
	"path/filepath"
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
	docpage.RequireFiles(t, page, *update)
}

// Every example, and every event of another shape, is in a command of the page,
// which test/integration runs.
func TestThePageRunsEveryExample(t *testing.T) {
	text := docpage.Read(t, page)
	for _, main := range glob(t, "*/main.go") {
		if want := " ./examples/migrating/" + filepath.ToSlash(filepath.Dir(main)) + " # "; !strings.Contains(text, want) {
			t.Errorf("no command has %q", want)
		}
	}
	for _, event := range glob(t, root+"/events/shapes/*.json") {
		if want := " --event events/shapes/" + filepath.Base(event) + " "; !strings.Contains(text, want) {
			t.Errorf("no command has %q", want)
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
