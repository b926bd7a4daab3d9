package main

import (
	"testing"

	"github.com/sqsbatch/sqsbatch/examples/migrating/internal/sample"
)

// Nine of ten orders are one statement. Record 9 is an order of nothing.
func TestBulk(t *testing.T) {
	sample.Run(t, consumer, "mixed.json").Is(t, []int{9}, "inserted orders=9")
}

// Three of the bodies are no orders: the others are inserted without them.
func TestMalformed(t *testing.T) {
	sample.Run(t, consumer, "malformed.json").Is(t, []int{2, 4, 5}, "inserted orders=3")
}
