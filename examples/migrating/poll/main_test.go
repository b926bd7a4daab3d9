package main

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/examples/migrating/internal/sample"
)

// As a container: orders are deleted, ten to a call, and what is none is a dead letter.
func TestPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := sample.Queue(t, "malformed.json")
		sample.Outcome{Log: sample.Poll(t, q, consumer, config, time.Minute)}.Is(t, nil,
			"shipped order=o-1", "shipped order=o-3", "shipped order=o-6")
		if deleted := q.Events(sqs.Deleted); len(deleted) != 6 {
			t.Errorf("%d messages were deleted, want 6", len(deleted))
		}
		if dead := q.DeadLetters(); len(dead) != 3 {
			t.Errorf("%d dead letters, want 3", len(dead))
		}
	})
}
