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
		r := batch.Record{Body: `{"id":"o-1","sku":"ok","quantity":2}`, MessageAttributes: map[string]batch.MessageAttribute{"type": {DataType: "String", StringValue: name}}}
		if err := byAttribute.Handle(t.Context(), r); batch.VerdictOf(err).Permanent != permanent {
			t.Errorf("%s: %v", name, err)
		}
	}
	if want := []string{"shipped order=o-1 quantity=2"}; !slices.Equal(lines(), want) {
		t.Errorf("the function logged %q, want %q", lines(), want)
	}
}

// Records 1 to 3 are one of each format. 4 is a basket with a quantity in words, 5
// a line without a quantity.
func TestFormats(t *testing.T) {
	sample.Run(t, byFormat, "shapes/formats.json").Is(t, []int{4, 5},
		"shipped order=o-1 lines=2", "shipped order=o-2 quantity=3", "shipped order=o-3 quantity=4")
}

func TestTheReasonIsEachHandlers(t *testing.T) {
	for body, want := range map[string]string{
		`{"id":"o-4"}`: "malformed body: Validate: no lines; or: Validate: no sku; or: not three fields with semicolons between them",
		`o-5;ok;two`:   "malformed body: not valid JSON at offset 0; or: the third field is not a number",
	} {
		if err := byFormat.Handle(t.Context(), batch.Record{Body: body}); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", body, err, want)
		}
	}
}
