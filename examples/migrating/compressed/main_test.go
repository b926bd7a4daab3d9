package main

import (
	"testing"

	"github.com/sqsbatch/sqsbatch/examples/migrating/internal/sample"
)

// Record 1 is not compressed, 4 is damaged, and 5 compressed by Brotli.
func TestCompressed(t *testing.T) {
	sample.Run(t, consumer, "shapes/gzip.json").Is(t, []int{4, 5},
		"shipped order=o-1 quantity=1", "shipped order=o-2 quantity=2", "shipped order=o-3 quantity=3")
}
