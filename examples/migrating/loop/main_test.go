package main

import (
	"testing"

	"github.com/sqsbatch/sqsbatch/examples/migrating/internal/sample"
)

// Three of the bodies are no orders: the others do not notice.
func TestLoop(t *testing.T) {
	sample.Run(t, consumer, "malformed.json").Is(t, []int{2, 4, 5},
		"shipped order=o-1 quantity=1", "shipped order=o-3 quantity=1", "shipped order=o-6 quantity=1")
}
