package servers_test

import (
	"flag"
	"testing"

	"github.com/sqsbatch/sqsbatch/internal/docpage"
)

var update = flag.Bool("update", false, "write the programs into docs/idempotency.md")

func TestThePageShowsThePrograms(t *testing.T) {
	docpage.RequireFiles(t, "../../../docs/idempotency.md", *update)
}
