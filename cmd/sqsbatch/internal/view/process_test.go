package view_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/container"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/track"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/view"
)

// playContainers shows one run of processes that poll.
func playContainers(v view.View) {
	v.Header(view.Header{
		Settings: "template.yaml", Package: "examples/orders", Function: "Orders", Mode: "poll", Processes: 2, Variables: []string{"SQSBATCH_CONCURRENCY=4"},
		Endpoint: "http://127.0.0.1:9", QueueURL: "http://127.0.0.1:9/0/orders", Visibility: time.Minute, Once: true,
		MoreQueues: []view.Queue{{URL: "http://127.0.0.1:9/0/returns", Visibility: 30 * time.Second}},
	})
	v.Event(track.Process{Change: container.Change{Process: 1, PID: 77}})
	v.Event(track.Log{Process: 1, Text: "hello"})
	v.Event(track.Warning{Text: "receiving fails"})
	v.Event(track.Warning{Text: "receiving fails, for a minute now", Serious: true})
	v.Event(track.Record{
		Process: 1, MessageID: "m1", Body: order("o-1", "ok"), Attempt: 1, Final: true,
		Outcome: track.Succeeded, Duration: time.Millisecond, Allowed: 15 * time.Minute, VisibleIn: -1,
	})
	v.Event(track.Process{Change: container.Change{Process: 1, PID: 77, Ended: "signal: killed", Again: time.Second}, CutOff: 1})
	v.Event(track.Record{
		Process: 1, MessageID: "m2", Body: order("o-2", "ok"), Attempt: 1, Final: true,
		Outcome: track.CutOff, Reason: "its process ended (signal: killed)", Duration: -1, Allowed: -1, VisibleIn: 40 * time.Second,
	})
	v.Event(track.Process{Change: container.Change{Process: 2, PID: 78, Ended: "exit status 1", Again: 500 * time.Millisecond}, CutOff: -1})
	v.Event(track.Process{Change: container.Change{Process: 1, PID: 79, Ended: "exit status 0", Asked: true}})
	v.Event(track.Process{Change: container.Change{Process: 2, PID: 80, Ended: "signal: killed", Asked: true}, CutOff: 2})
	v.Summary(view.Summary{
		Progress: track.Progress{Sent: 4, Succeeded: 2, Waiting: 2, Retried: 3, Starts: 4, Crashes: 2, HandledAgain: 1}, Elapsed: 4 * time.Second,
	})
}

func TestContainers(t *testing.T) {
	var text, lines, aside bytes.Buffer
	playContainers(view.NewText(&text, view.Terminal{}))
	golden.Check(t, "containers.txt", text.String())
	playContainers(view.NewJSON(&lines, view.NewText(&aside, view.Terminal{})))
	golden.Check(t, "containers.json", lines.String())
}
