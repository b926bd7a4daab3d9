package main

import (
	"net/http"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/examples/migrating/internal/sample"
)

// 2 is refused, 3 limited, 4 not served at the moment, 5 an order of nothing.
func TestClassify(t *testing.T) {
	http.DefaultClient.Transport = &carrier{} // it has not been asked
	sample.Run(t, consumer, "shapes/http.json", config).Is(t, []int{2, 3, 4, 5}, "shipped order=o-1", "shipped order=o-6")
}

// What the errors of the function become.
func TestVerdicts(t *testing.T) {
	http.DefaultClient.Transport = &carrier{}
	for body, want := range map[string]batch.Verdict{
		`{"id":"a","sku":"unknown","quantity":1}`: {Permanent: true, Verb: true},
		`{"id":"b","sku":"busy","quantity":1}`:    {After: 2 * time.Second, HasAfter: true, Verb: true},
		`{"id":"c","sku":"down","quantity":1}`:    {}, // the backoff's
		`{"id":"d","sku":"ok","quantity":0}`:      {Permanent: true, Verb: true},
	} {
		err := consumer.Handle(t.Context(), batch.Record{Body: body})
		if got := batch.VerdictOf(config.Classify(err)); got != want {
			t.Errorf("%s: %+v, want %+v (%v)", body, got, want, err)
		}
	}
}
