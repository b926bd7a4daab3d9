package main

import (
	"testing"

	"github.com/sqsbatch/sqsbatch/examples/migrating/internal/sample"
)

// Records 3 to 5 are JSON, a message that is cut off, and one of another type.
func TestProtobuf(t *testing.T) {
	sample.Run(t, consumer, "shapes/protobuf.json").Is(t, []int{3, 4, 5},
		"shipped order=o-1 quantity=1", "shipped order=o-2 quantity=2", "shipped order=o-6 quantity=3")
}
