package main

import (
	"testing"

	"github.com/sqsbatch/sqsbatch/examples/migrating/internal/sample"
	"github.com/sqsbatch/sqsbatch/handler"
)

// Record 4 is of a type without a handler, 5 has a quantity in words, 6 no type.
func TestTypes(t *testing.T) {
	sample.Run(t, consumer, handler.Config{}, "shapes/types.json").Is(t, []int{4, 5, 6},
		"shipped order=o-1 quantity=1", "refunded order=o-0", "shipped order=o-2 quantity=4")
}
