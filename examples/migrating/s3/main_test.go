package main

import (
	"slices"
	"testing"

	"github.com/sqsbatch/sqsbatch/examples/migrating/internal/sample"
	"github.com/sqsbatch/sqsbatch/handler"
)

// Record 1 has two objects, 2 is S3's test, 3 ends at its second object of three,
// and 4 is no notification.
func TestS3(t *testing.T) {
	want := []string{
		"imported bucket=imports key=2026/july august ü.csv", "imported bucket=imports key=2026/a+b.csv",
		"imported bucket=imports key=2026/first.csv",
		"imported bucket=imports key=2026/北京/plain.csv",
	}
	inOrder := sample.Run(t, consumer, "shapes/s3.json", handler.Config{Concurrency: 1})
	if !slices.Equal(inOrder.Log, want) {
		t.Errorf("the objects came as %q", inOrder.Log)
	}
	inOrder.Is(t, []int{3, 4}, want...)
}
