package main

import (
	"testing"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/examples/migrating/internal/sample"
)

// What is malformed is dropped, and only that.
func TestMalformed(t *testing.T) {
	sample.Run(t, consumer, "malformed.json", config).Is(t, nil, "recorded sku=ok", "recorded sku=ok", "recorded sku=ok")
}

func TestValidate(t *testing.T) {
	if err := consumer.Handle(t.Context(), batch.Record{Body: `{"sku":"ok","quantity":0}`}); !batch.VerdictOf(err).Malformed {
		t.Errorf("%v", err)
	}
}
