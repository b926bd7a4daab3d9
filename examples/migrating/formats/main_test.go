package main

import (
	"testing"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/examples/migrating/internal/sample"
)

// Records 1 to 3 are one of each format. 4 is a basket with a quantity in words, 5
// a line without a quantity.
func TestFormats(t *testing.T) {
	sample.Run(t, consumer, "shapes/formats.json").Is(t, []int{4, 5},
		"shipped order=o-1 lines=2", "shipped order=o-2 quantity=3", "shipped order=o-3 quantity=4")
}

func TestTheReasonIsEachHandlers(t *testing.T) {
	for body, want := range map[string]string{
		`{"id":"o-4"}`: "malformed body: Validate: no lines; or: Validate: no sku; or: not three fields with semicolons between them",
		`o-5;ok;two`:   "malformed body: not valid JSON at offset 0; or: the third field is not a number",
	} {
		if err := consumer.Handle(t.Context(), batch.Record{Body: body}); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", body, err, want)
		}
	}
}
