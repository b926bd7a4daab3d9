package main

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/examples/migrating/internal/sample"
	"github.com/sqsbatch/sqsbatch/handler"
)

// Nine of ten orders are one statement. Record 9 is an order of nothing.
func TestBulk(t *testing.T) {
	sample.Run(t, consumer, handler.Config{}, "mixed.json").Is(t, []int{9}, "inserted orders=9")
}

// Three of the bodies are no orders: the others are inserted without them.
func TestMalformed(t *testing.T) {
	sample.Run(t, consumer, handler.Config{}, "malformed.json").Is(t, []int{2, 4, 5}, "inserted orders=3")
}

func TestInAContainer(t *testing.T) {
	if _, err := open(); err != nil { // outside the bubble: a sql.DB has a goroutine that stays
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		q := sample.Queue(t, "mixed.json")
		sample.Outcome{Log: sample.Poll(t, q, consumer, handler.Config{}, time.Minute)}.Is(t, nil, "inserted orders=9")
		if deleted, dead := q.Events(sqs.Deleted), q.DeadLetters(); len(deleted) != 10 || len(dead) != 1 {
			t.Errorf("%d deleted, %d dead letters, want 10 and 1", len(deleted), len(dead))
		}
	})
}
