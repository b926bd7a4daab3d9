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
	docpage.RequireFiles(t, "../../docs/testing.md", *update)
}
