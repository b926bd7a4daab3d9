package local_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
	"github.com/sqsbatch/sqsbatch/events"
)

// Every event of the repository gets, in its first invocation, the answer that is
// documented for it; what can never succeed is a dead letter.
func TestSampleEvents(t *testing.T) {
	t.Parallel()
	names, err := fs.Glob(events.FS, "*.json")
	if err != nil || len(names) == 0 {
		t.Fatalf("%v, %v", names, err)
	}
	for _, name := range names {
		if name == "empty.json" {
			continue // nothing is sent, so nothing is invoked
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := documented(t, name)
			got := map[string]int{}
			for _, l := range firstInvocation(t, name) {
				if l.Type == "record" && l.Outcome != "succeeded" {
					got[l.Body]++
				}
			}
			if !maps.Equal(got, want) {
				t.Errorf("not succeeded:\n got %v\nwant %v", got, want)
			}
		})
	}
}

// documented counts the bodies of the records that the documented answer names.
func documented(t *testing.T, name string) map[string]int {
	t.Helper()
	var event struct {
		Records []struct{ MessageID, Body string }
	}
	var answer struct {
		BatchItemFailures []struct{ ItemIdentifier string }
	}
	for file, into := range map[string]any{name: &event, path.Join("answers", name): &answer} {
		data, err := events.FS.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(data, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	out := map[string]int{}
	for _, r := range event.Records {
		for _, f := range answer.BatchItemFailures {
			if f.ItemIdentifier == r.MessageID {
				out[r.Body]++
			}
		}
	}
	return out
}

// firstInvocation runs the event until its first invocation is over.
func firstInvocation(t *testing.T, name string) []line {
	t.Helper()
	args := []string{"--template", own, "--event", filepath.Join(root, "events", name), "--output", "json", "--timeout", "1m"}
	if strings.HasPrefix(name, "fifo") {
		args = append(args, "--parameter-overrides", "Fifo=true")
	}
	text, err := interrupted("", `"type":"invocation"`, 2, args...)
	if err != nil {
		t.Fatal(err)
	}
	lines := parseLines(t, text)
	return lines[:1+slices.IndexFunc(lines, func(l line) bool { return l.Type == "invocation" })]
}

// On the template's FIFO variant a group waits for its failed record, in a container too.
func TestFIFO(t *testing.T) {
	t.Parallel()
	first, second := `{"id":"o-1","sku":"flaky:2","quantity":1}`, `{"id":"o-2","sku":"ok","quantity":1}`
	for _, mode := range []string{"lambda", "poll"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			lines := done(t, "", "--mode", mode, "--template", own, "--parameter-overrides", "Fifo=true",
				"--event", inEvent(t, map[string]string{"MessageGroupId": "g"}, first, second), "--once", "--timeout", "1m")
			checkFates(t, lines, map[string][]string{first: {"1 retry", "2 succeeded"}, second: {"1 skipped", "2 succeeded"}})
		})
	}
}

// TestNothingToSend: an event without records ends at once, and well.
func TestNothingToSend(t *testing.T) {
	t.Parallel()
	text := shown(t, "", "--template", own, "--event", filepath.Join(root, "events", "empty.json"), "--once")
	golden.Says(t, "the output", text, "has no records: nothing is sent", "0 messages sent")
}

// TestManyMessages: more than one batch, in several processes side by side.
func TestManyMessages(t *testing.T) {
	t.Parallel()
	var in strings.Builder
	for i := range 500 {
		fmt.Fprintf(&in, "message %d\n", i)
	}
	lines := done(t, in.String(), "testdata/foreign", "--function", "Foreign", "--parameter-overrides", "Visibility=60", "--once", "--timeout", "1m", "-")
	s := summary(t, lines)
	if s.Sent != 500 || s.Succeeded != 500 || s.Invocations < 50 {
		t.Errorf("summary: %+v", s)
	}
	if !slices.ContainsFunc(lines, func(l line) bool { return l.Type == "invocation" && l.Records == 10 }) {
		t.Error("no full batch")
	}
}
