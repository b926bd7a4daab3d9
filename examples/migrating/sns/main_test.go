package main

import (
	"testing"

	"github.com/sqsbatch/sqsbatch/examples/migrating/internal/sample"
)

// Record 3 is the confirmation of a subscription, 4 has no order in it, 5 is
// cut off, 6 was sent to the queue itself.
func TestSNS(t *testing.T) {
	sample.Run(t, consumer, "shapes/sns.json").Is(t, []int{3, 4, 5},
		"shipped order=o-1 tenant=blue subject=", "shipped order=o-2 tenant= subject=An order", "shipped order=o-6 tenant= subject=")
}

// The same orders with raw message delivery: the function does not change.
func TestRaw(t *testing.T) {
	sample.Run(t, consumer, "shapes/sns-raw.json").Is(t, []int{3},
		"shipped order=o-1 tenant=blue subject=", "shipped order=o-2 tenant= subject=")
}
