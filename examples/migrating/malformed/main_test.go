package main

import (
	"testing"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/examples/migrating/internal/sample"
	"github.com/sqsbatch/sqsbatch/handler"
)

// What is malformed is dropped, and only that.
func TestMalformed(t *testing.T) {
	sample.Run(t, consumer, config, "malformed.json").Is(t, nil, "recorded sku=ok", "recorded sku=ok", "recorded sku=ok")
}

// Without the setting it is a dead letter: named in the answer when there is no
// queue for that.
func TestMalformedByDefault(t *testing.T) {
	sample.Run(t, consumer, handler.Config{}, "malformed.json").Is(t, []int{2, 4, 5}, "recorded sku=ok", "recorded sku=ok", "recorded sku=ok")
}

func TestValidate(t *testing.T) {
	if err := consumer.Handle(t.Context(), batch.Record{Body: `{"sku":"ok","quantity":0}`}); !batch.VerdictOf(err).Malformed {
		t.Errorf("%v", err)
	}
}
