package local_test

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
)

// inEvent writes an event file of records with these bodies.
func inEvent(t *testing.T, attributes map[string]string, bodies ...string) (path string) {
	t.Helper()
	var records []any
	for i, body := range bodies {
		records = append(records, map[string]any{"messageId": string(rune('a' + i)), "body": body, "attributes": attributes})
	}
	text, err := json.Marshal(map[string]any{"Records": records})
	if err != nil {
		t.Fatal(err)
	}
	return golden.File(t, "event.json", string(text))
}

// TestPollFIFO: a group waits for its failed record in a container too.
func TestPollFIFO(t *testing.T) {
	t.Parallel()
	first, second := `{"id":"o-1","sku":"flaky:2","quantity":1}`, `{"id":"o-2","sku":"ok","quantity":1}`
	lines, err := run(t, "", "--mode", "poll", "--template", filepath.Join(root, "template.yaml"), "--parameter-overrides", "Fifo=true",
		"--event", inEvent(t, map[string]string{"MessageGroupId": "g"}, first, second), "--once", "--timeout", "1m")
	if err != nil {
		t.Fatal(err)
	}
	checkFates(t, lines, map[string][]string{first: {"1 retry", "2 succeeded"}, second: {"1 skipped", "2 succeeded"}})
}

// TestPollLateEvent: receive counts of an event are reproduced before the
// process polls, and what this tool received for that is not an attempt.
func TestPollLateEvent(t *testing.T) {
	t.Parallel()
	good, last := `{"id":"o-1","sku":"flaky:3","quantity":1}`, `{"id":"o-2","sku":"flaky:4","quantity":1}`
	lines, err := run(t, "", "--mode", "poll", "--template", filepath.Join(root, "template.yaml"),
		"--event", inEvent(t, map[string]string{"ApproximateReceiveCount": "3"}, good, last), "--once", "--timeout", "1m")
	if err != nil {
		t.Fatal(err)
	}
	checkFates(t, lines, map[string][]string{good: {"3 succeeded"}, last: {"3 retry", "4 succeeded"}})
	if s := summary(t, lines); s.Succeeded != 2 || s.Retried != 1 {
		t.Errorf("summary: %+v", s)
	}
}
