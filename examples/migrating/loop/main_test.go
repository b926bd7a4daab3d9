package main

import (
	"slices"
	"testing"

	"github.com/sqsbatch/sqsbatch/examples/migrating/internal/sample"
	"github.com/sqsbatch/sqsbatch/handler"
)

// Three of the bodies are no orders: the others do not notice, with other invocations or
// without.
func TestLoop(t *testing.T) {
	for _, cfg := range []handler.Config{{}, config} {
		sample.Run(t, consumer, "malformed.json", cfg).Is(t, []int{2, 4, 5},
			"shipped order=o-1 quantity=1", "shipped order=o-3 quantity=1", "shipped order=o-6 quantity=1")
	}
}

// The schedule's event is not for the queue's handler, and gets an answer of its own.
func TestSchedule(t *testing.T) {
	lines := sample.Capture(t)
	function, err := handler.New(consumer, config)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := function.Invoke(t.Context(), []byte(`{"version":"0","id":"53dc4d37-cffa-4f76-80c9-8b7d4a4d2eaa","detail-type":"Scheduled Event",
		"source":"aws.events","account":"123456789012","time":"2026-11-21T03:00:00Z","region":"us-east-1","resources":[],"detail":{}}`))
	if err != nil || string(answer) != "null" {
		t.Errorf("%s, %v", answer, err)
	}
	if want := []string{"archived until=2026-11-21"}; !slices.Equal(lines(), want) {
		t.Errorf("the function logged %q, want %q", lines(), want)
	}
	if _, err := function.Invoke(t.Context(), []byte(`{"detail-type":"Warm-up"}`)); err == nil {
		t.Error("an invocation of another type had no error")
	}
}
