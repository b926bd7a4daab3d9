package main

import (
	"testing"

	"github.com/sqsbatch/sqsbatch/examples/migrating/internal/sample"
)

// Record 3 is of another type, 4 has no detail, 5 one that is no order, and 6 is
// no event.
func TestEventBridge(t *testing.T) {
	sample.Run(t, consumer, "shapes/eventbridge.json").Is(t, []int{4, 5, 6},
		"shipped order=o-1 quantity=1 source=shop.orders", "shipped order=o-2 quantity=4 source=shop.orders")
}
