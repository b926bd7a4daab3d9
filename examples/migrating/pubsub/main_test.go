package main

import (
	"testing"

	"github.com/sqsbatch/sqsbatch/examples/migrating/internal/sample"
)

// Record 2 is binary, 4 came by way of a topic, and 5 is not the base64 that it
// says it is.
func TestPubSub(t *testing.T) {
	sample.Run(t, consumer, "shapes/pubsub.json").Is(t, []int{5},
		"order bytes=36 tenant=blue & green trace=7", "order bytes=4 tenant=red trace=", "order bytes=36 tenant=100% trace=", "order bytes=36 tenant=yellow trace=")
}
