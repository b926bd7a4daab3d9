package main

import (
	"slices"
	"testing"

	"github.com/sqsbatch/sqsbatch/examples/migrating/internal/sample"
	"github.com/sqsbatch/sqsbatch/handler"
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

// Record 1 has two objects, 2 is S3's test, 3 ends at its second object of three,
// and 4 is no notification.
func TestS3(t *testing.T) {
	want := []string{
		"imported bucket=imports key=2026/july august ü.csv", "imported bucket=imports key=2026/a+b.csv",
		"imported bucket=imports key=2026/first.csv",
		"imported bucket=imports key=2026/北京/plain.csv",
	}
	inOrder := sample.Run(t, notifications, "shapes/s3.json", handler.Config{Concurrency: 1})
	if !slices.Equal(inOrder.Log, want) {
		t.Errorf("the objects came as %q", inOrder.Log)
	}
	inOrder.Is(t, []int{3, 4}, want...)
}

// Record 2 is S3's test, 3 was delivered raw, and 4 is no notification.
func TestS3InSNS(t *testing.T) {
	sample.Run(t, notifications, "shapes/s3-in-sns.json").Is(t, []int{4},
		"imported bucket=imports key=2026/july august ü.csv", "imported bucket=imports key=2026/delivered-raw.csv")
}

// Record 3 is of another type, 4 has no detail, 5 one that is no order, and 6 is
// no event.
func TestEventBridge(t *testing.T) {
	sample.Run(t, placed, "shapes/eventbridge.json").Is(t, []int{4, 5, 6},
		"shipped order=o-1 quantity=1 source=shop.orders", "shipped order=o-2 quantity=4 source=shop.orders")
}
