package main

import (
	"testing"

	"github.com/sqsbatch/sqsbatch/examples/migrating/internal/sample"
)

// Records 2 and 3 are pointers of the libraries' two generations. 4 is one to an
// object that does not exist, 5 to a bucket of someone else's.
func TestExtended(t *testing.T) {
	t.Setenv("AWS_REGION", "us-east-1")
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	sample.Run(t, consumer, "shapes/extended.json").Is(t, []int{4, 5},
		"shipped order=o-1 note=0", "shipped order=o-2 note=307200", "shipped order=o-3 note=307200")
}
