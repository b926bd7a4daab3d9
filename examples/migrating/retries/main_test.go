package main

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/examples/migrating/internal/sample"
)

// 2 is refused, 3 limited, 4 not served at the moment, 5 an order of nothing.
func TestStatuses(t *testing.T) {
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
		err := batch.JSON(shipOrder).Handle(t.Context(), batch.Record{Body: body})
		if got := batch.VerdictOf(config.Classify(err)); got != want {
			t.Errorf("%s: %+v, want %+v (%v)", body, got, want, err)
		}
	}
}

// The carrier is down for a minute: few orders are tried, all of them are shipped.
func TestAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &carrier{outage: time.Minute}
		http.DefaultClient.Transport = c
		q := sample.Queue(t, "ten.json")
		shipped := sample.Poll(t, q, consumer, config, 20*time.Minute)
		if deleted := q.Events(sqs.Deleted); len(shipped) != 10 || len(deleted) != 10 {
			t.Errorf("%d shipped, %d deleted, want 10", len(shipped), len(deleted))
		}
		if c.refused < 3 || c.refused > 4 {
			t.Errorf("%d calls while it was down, want the 3 that open the breaker and the one next to the last", c.refused)
		}
		if dead := q.DeadLetters(); len(dead) != 0 {
			t.Errorf("%d dead letters", len(dead))
		}
	})
}
