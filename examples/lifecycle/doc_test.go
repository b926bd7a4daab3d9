package lifecycle

import (
	"flag"
	"testing"

	"github.com/sqsbatch/sqsbatch/internal/docpage"
)

var update = flag.Bool("update", false, "write the files into docs/lifecycles.md")

// The page shows these programs as they are. After a change of one:
//
//	go test . -run TestThePageShowsThesePrograms -update
func TestThePageShowsThesePrograms(t *testing.T) {
	for _, page := range []string{"lifecycles.md", "workers.md"} {
		docpage.RequireFiles(t, "../../docs/"+page, *update)
	}
}
