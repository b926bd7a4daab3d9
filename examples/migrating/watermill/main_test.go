package main

import (
	"testing"

	"github.com/sqsbatch/sqsbatch/examples/migrating/internal/sample"
)

// Record 3 is for the poison queue, 4 was not sent by Watermill, and 5 is not JSON.
func TestWatermill(t *testing.T) {
	sample.Run(t, consumer, "shapes/watermill.json", config).Is(t, []int{3, 5},
		"shipped order=o-1 correlation=c-7", "shipped order=o-2 correlation=", "shipped order=o-4 correlation=")
}
