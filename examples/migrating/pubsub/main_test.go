package main

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/examples/migrating/internal/sample"
	"github.com/sqsbatch/sqsbatch/handler"
)

var orders = []string{
	"order bytes=36 tenant=blue & green trace=7",
	"order bytes=4 tenant=red trace=",
	"order bytes=36 tenant=100% trace=",
	"order bytes=36 tenant=yellow trace=",
}

// Record 2 is binary, 4 came by way of a topic, and 5 is not the base64 that it
// says it is.
func TestPubSub(t *testing.T) {
	sample.Run(t, consumer, handler.Config{}, "shapes/pubsub.json").Is(t, []int{5}, orders...)
}

func TestInAContainer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := sample.Queue(t, "shapes/pubsub.json")
		sample.Outcome{Log: sample.Poll(t, q, consumer, handler.Config{}, time.Minute)}.Is(t, nil, orders...)
		if dead := q.DeadLetters(); len(dead) != 1 {
			t.Errorf("%d dead letters, want 1", len(dead))
		}
	})
}
