package main

import (
	"testing"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/examples/migrating/internal/sample"
)

// The worker refuses record 3 with a status of 422.
func TestHTTP(t *testing.T) {
	sample.Run(t, consumer, "attributes.json", config).Is(t, []int{3},
		"shipped order=o-1 queue=orders priority=7", "shipped order=o-2 queue=orders priority=")
}

func TestStatuses(t *testing.T) {
	for body, permanent := range map[string]bool{`{"sku":"unknown"}`: true, "no order": true, `{"sku":"moved"}`: false} {
		err := consumer.Handle(t.Context(), batch.Record{Body: body})
		if err == nil || batch.VerdictOf(config.Classify(err)).Permanent != permanent {
			t.Errorf("%s: %v", body, err)
		}
	}
}
