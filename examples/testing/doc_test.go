package mailer

import (
	"flag"
	"testing"

	"github.com/sqsbatch/sqsbatch/internal/docpage"
)

var update = flag.Bool("update", false, "write the files into docs/testing.md")

// The page shows these files as they are. After a change of one:
//
//	go test ./examples/testing -run TestThePageShowsTheseFiles -update
func TestThePageShowsTheseFiles(t *testing.T) {
	const page = "../../docs/testing.md"
	text := docpage.Read(t, page)
	want, count := docpage.WithFiles(t, page, text)
	if count != 5 {
		t.Errorf("%s shows %d files, want 5", page, count)
	}
	docpage.RequireCurrent(t, page, text, want, *update)
}
