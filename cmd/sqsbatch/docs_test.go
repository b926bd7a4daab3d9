package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/container"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/runstats"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/serve"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/track"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/view"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/docpage"
)

// everyLine is one of each type, with all of its fields.
func everyLine(t *testing.T) string {
	t.Helper()
	var out bytes.Buffer
	interrupts := make(chan os.Signal, 1)
	interrupts <- os.Interrupt
	args := []string{"sqs", "--addr", "127.0.0.1:0", "--output", "json", "--queue", "orders,dead-letter=dead"}
	if status := cli.Run(t.Context(), root(cli.IO{Args: args, Stdout: &out, Stderr: io.Discard, Interrupts: interrupts})); status != 0 {
		t.Fatal(status)
	}
	now := time.Now()
	for _, event := range []any{
		serve.Refused{Type: "refused", Call: sqs.Call{Began: now, Ended: now, Operation: "a", Queue: "a", Messages: 1, Failed: 1, Error: "a", Message: "a", Fault: sqs.Failure}},
		serve.Lost{Type: "lost", Time: now, Events: 1},
	} {
		if err := json.NewEncoder(&out).Encode(event); err != nil {
			t.Fatal(err)
		}
	}
	v := view.NewJSON(&out, view.NewText(io.Discard, view.Terminal{}))
	v.Event(sqs.Event{
		Kind: "message", Time: now, Queue: "a", MessageID: "a", Body: "a", ReceiveCount: 1, Visibility: time.Second,
		MessageGroupID: "a", DeduplicationID: "a", SequenceNumber: "1", DeadLetterQueue: "a", MovedTo: "a", NewMessageID: "a",
	})
	v.Event(track.Record{Process: 1, PanickedAt: "a", DeadLetterQueue: "a", Final: true})
	v.Event(track.Ended{ColdStart: true, Error: "a", AllFailed: "a"})
	v.Event(track.Process{Change: container.Change{Ended: "a", Asked: true, Again: time.Second}, CutOff: 1})
	v.Summary(view.Summary{Progress: track.Progress{HandledAgain: 1, Starts: 1, Crashes: 1}, Metrics: &runstats.Report{}})
	if err := v.Err(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// The page lists every field that is written, for the lines that have it, and no other.
func TestThePageHasTheFieldsOfEvents(t *testing.T) {
	documented := docpage.Fields(t, "../../docs/emulators.md", "event fields")
	for line := range strings.Lines(everyLine(t)) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatal(line, err)
		}
		kind := fields["type"].(string)
		delete(fields, "type")
		for name := range fields {
			if !slices.Contains(documented[kind], name) {
				t.Errorf("%s of a line of type %s is not in the page", name, kind)
			}
		}
		for _, name := range documented[kind] {
			if _, ok := fields[name]; !ok {
				t.Errorf("%s of a line of type %s is in the page, and not written", name, kind)
			}
		}
		delete(documented, kind)
	}
	if len(documented) > 0 {
		t.Errorf("the page has types that are not written: %v", documented)
	}
}
