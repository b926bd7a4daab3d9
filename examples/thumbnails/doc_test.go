package main

import (
	"flag"
	"testing"

	"github.com/sqsbatch/sqsbatch/internal/docpage"
)

var update = flag.Bool("update", false, "write the files into docs/getting-started.md")

// The page shows these files as they are. After a change of one:
//
//	go test ./examples/thumbnails -run TestThePageShowsTheseFiles -update
func TestThePageShowsTheseFiles(t *testing.T) {
	docpage.RequireFiles(t, "../../docs/getting-started.md", *update)
}
