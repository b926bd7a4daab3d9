package main

import (
	"testing"

	"github.com/sqsbatch/sqsbatch/examples/migrating/internal/sample"
)

// Record 2 is S3's test, 3 was delivered raw, and 4 is no notification.
func TestS3InSNS(t *testing.T) {
	sample.Run(t, consumer, "shapes/s3-in-sns.json").Is(t, []int{4},
		"imported bucket=imports key=2026/july august ü.csv", "imported bucket=imports key=2026/delivered-raw.csv")
}
