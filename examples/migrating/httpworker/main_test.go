package main

import (
	"testing"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/examples/migrating/internal/sample"
)

// Record 3 is refused with a status of 422; the attributes are headers.
func TestWorker(t *testing.T) {
	sample.Run(t, consumer, "attributes.json", config).Is(t, []int{3},
		"shipped order=o-1 queue=orders priority=7", "shipped order=o-2 queue=orders priority=")
}

func TestRefusedForGood(t *testing.T) {
	for _, body := range []string{`{"id":"o-1","sku":"unknown"}`, "no order"} {
		if err := consumer.Handle(t.Context(), batch.Record{Body: body}); !batch.VerdictOf(config.Classify(err)).Permanent {
			t.Errorf("%s: %v", body, err)
		}
	}
}
