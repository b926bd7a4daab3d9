package main

import (
	"slices"
	"testing"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/examples/migrating/internal/sample"
)

// Record 4 is of a type without a handler, 5 has a quantity in words, 6 no type.
func TestTypes(t *testing.T) {
	sample.Run(t, consumer, "shapes/types.json").Is(t, []int{4, 5, 6},
		"shipped order=o-1 quantity=1", "refunded order=o-0", "shipped order=o-2 quantity=4")
}

func TestTypesInAnAttribute(t *testing.T) {
	lines := sample.Capture(t)
	for name, permanent := range map[string]bool{"order.placed": false, "order.archived": true} {
		r := batch.Record{Body: `{"id":"o-1","quantity":2}`, MessageAttributes: map[string]batch.MessageAttribute{"type": {DataType: "String", StringValue: name}}}
		if err := byAttribute.Handle(t.Context(), r); batch.VerdictOf(err).Permanent != permanent {
			t.Errorf("%s: %v", name, err)
		}
	}
	if want := []string{"shipped order=o-1 quantity=2"}; !slices.Equal(lines(), want) {
		t.Errorf("the function logged %q, want %q", lines(), want)
	}
}
