package main

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/examples/migrating/internal/sample"
)

// The carrier is down for 2 s: few orders are tried, all of them are shipped.
func TestAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &carrier{outage: 2 * time.Second}
		http.DefaultClient.Transport = c
		q := sample.Queue(t, "ten.json")
		shipped := sample.Poll(t, q, consumer, config, time.Minute)
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
