package view_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/track"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/view"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

var header = view.Header{
	Settings: "template.yaml", Package: "examples/orders", Function: "Orders", Timeout: 10 * time.Second, MemoryMB: 256,
	Endpoint: "http://127.0.0.1:9", QueueURL: "http://127.0.0.1:9/0/orders", DeadLetterURL: "http://127.0.0.1:9/0/dead",
	MaxReceiveCount: 5, Visibility: time.Minute, Outage: 10 * time.Second, BatchSize: 10, Window: 2 * time.Second, MaximumConcurrency: 4,
	Filters: []string{`{"body": {"sku": ["ok"]}}`},
}

func order(id, sku string) string {
	return `{"id":"` + id + `", "sku":"` + sku + `","quantity":1}`
}

// play shows one run: a batch with every kind of line.
func play(v view.View) {
	v.Say("building examples/orders")
	v.Header(header)
	v.Event(track.Started{Invocation: 1, Bodies: []string{order("o-1", "ok"), order("o-2", "busy:2s")}, ColdStart: true})
	v.Event(track.Log{Invocation: 1, Text: `{"time":"t","level":"INFO","msg":"shipping it","id":"o-1"}`})
	v.Event(track.Log{Text: "plain \x1b[31mred"})
	v.Event(track.Warning{Text: "near the end", MessageID: "m2", Body: order("o-2", "busy:2s")})
	record := track.Record{
		Invocation: 1, RequestID: "r1", MessageID: "m1", Body: order("o-1", "ok"), Attempt: 1,
		Outcome: track.Succeeded, Duration: 12300 * time.Microsecond, Allowed: 9 * time.Second, VisibleIn: -1,
	}
	v.Event(record)
	record.Final, record.Repeats = true, true
	v.Event(record)
	v.Event(track.Record{
		Invocation: 1, RequestID: "r1", MessageID: "m2", Body: order("o-2", "busy:2s"), Attempt: 2, Final: true,
		Outcome: track.Retry, Reason: "busy\nbusy", Duration: 90 * time.Second, Allowed: 0, VisibleIn: 2 * time.Second,
	})
	v.Event(track.Record{
		Invocation: 1, RequestID: "r1", MessageID: "m3", Body: "plain  text", Attempt: 1, Final: true,
		Outcome: track.Retry, Reason: "Task timed out", Shared: true, Duration: -1, Allowed: -1, VisibleIn: 0,
	})
	v.Event(track.Ended{Invocation: 1, Timeout: 10 * time.Second, RequestID: "r1", Records: 3, Deleted: 1, Back: 2, Duration: 700 * time.Millisecond, ColdStart: true, Init: 40 * time.Millisecond})
	v.Tick(track.Progress{Sent: 3, Succeeded: 1, Waiting: 2, Next: order("o-2", "busy:2s"), NextIn: 1900 * time.Millisecond})
	v.Tick(track.Progress{Sent: 3, Succeeded: 1, Waiting: 2, Next: order("o-2", "busy:2s"), NextIn: 1800 * time.Millisecond})
	v.Event(track.Started{Invocation: 2, Bodies: []string{"x"}})
	v.Event(track.Ended{Invocation: 2, Timeout: 10 * time.Second, Duration: 10 * time.Second, Error: "Sandbox.Timedout: Task timed out"})
	v.Event(track.Ended{Invocation: 3, Timeout: 10 * time.Second, Duration: 10 * time.Second, AllFailed: "invalid JSON"})
	v.Event(track.Record{
		MessageID: "m2", Body: order("o-2", "busy:2s"), Attempt: 5, Final: true, Outcome: track.DeadLetter,
		Reason: "busy (received 5 times)", Duration: -1, Allowed: -1, VisibleIn: -1, DeadLetterQueue: "dead",
	})
	v.Event(track.Record{
		MessageID: "m4", Body: order("o-4", "ok"), Attempt: 1, Final: true, Outcome: track.Filtered,
		Reason: "it matches no filter", Duration: -1, Allowed: -1, VisibleIn: -1,
	})
	v.Event(sqs.Event{Kind: sqs.Moved, MessageID: "m2", NewMessageID: "m5", Body: order("o-2", "busy:2s"), Queue: "dead", MovedTo: "orders"})
	v.Tick(track.Progress{Sent: 5, Succeeded: 1, DeadLettered: 1, Filtered: 1, Moved: 1, Removed: 1})
	v.Summary(view.Summary{
		Progress: track.Progress{Sent: 5, Succeeded: 1, DeadLettered: 1, Filtered: 1, Moved: 1, Waiting: 1, Retried: 7, Invocations: 3},
		Dead:     []track.Dead{{Body: order("o-2", "busy:2s"), Reason: "busy (received 5 times)"}},
		DeadName: "dead", Elapsed: 4200 * time.Millisecond,
	})
}

func TestPlainText(t *testing.T) {
	var out bytes.Buffer
	play(view.NewText(show.To(&out), view.Terminal{}))
	golden.Check(t, "plain.txt", out.String())
}

// Lines fit the width and no word of a reason is cut. The status line is replaced, and
// removed at the end.
func TestTerminal(t *testing.T) {
	for _, width := range []int{60, 80, 120} {
		t.Run(strconv.Itoa(width), func(t *testing.T) {
			var out bytes.Buffer
			play(view.NewText(show.To(&out), terminal(width)))
			screen := replay(t, out.String())
			golden.Check(t, fmt.Sprintf("terminal%d.txt", width), strings.Join(screen, "\n")+"\n")
			requireWidth(t, screen, width)
		})
	}
}

func terminal(width int) view.Terminal {
	return view.Terminal{Redraw: true, Width: func() int { return width }}
}

// requireWidth fails unless lines fit the width, except a command, which is not broken.
func requireWidth(t *testing.T, lines []string, width int) {
	t.Helper()
	for _, line := range lines {
		if n := utf8.RuneCountInString(line); n > width && !strings.HasPrefix(line, "send more ") {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

// Long reasons, logs and warnings continue in indented lines.
func TestTerminal_LongTextsAreWrapped(t *testing.T) {
	words := strings.Repeat("wörter ", 30)
	long := strings.TrimSpace(words)
	for _, width := range []int{60, 80, 120} {
		var out bytes.Buffer
		colours := terminal(width)
		colours.Colour = true
		for _, v := range []*view.Text{view.NewText(show.To(&out), terminal(width)), view.NewText(show.To(&out), colours)} {
			v.Event(track.Record{MessageID: "m1", Body: long, Attempt: 1, Outcome: track.Retry, Reason: long, Duration: -1, Allowed: -1, VisibleIn: time.Second})
			v.Event(track.Log{Invocation: 1, Text: long})
			v.Event(track.Warning{Text: long})
		}
		plain := regexp.MustCompile(`\x1b\[\d+m`).ReplaceAllString(out.String(), "")
		lines := strings.Split(strings.TrimSuffix(plain, "\n"), "\n")
		requireWidth(t, lines, width)
		if n := strings.Count(plain, "wörter"); n < 6*30 {
			t.Errorf("%d columns: %d words, want those of every reason, log and warning:\n%s", width, n, plain)
		}
		if strings.Count(plain, "wör") != strings.Count(plain, "wörter") {
			t.Errorf("%d columns: a word is cut:\n%s", width, plain)
		}
		if first, second := lines[:len(lines)/2], lines[len(lines)/2:]; !slices.Equal(first, second) {
			t.Errorf("%d columns: colours change the lines:\n%s", width, plain)
		}
	}
}

// A record does not come back after its last attempt, whatever its visibility. A panic has
// its line.
func TestNotes(t *testing.T) {
	for want, r := range map[string]track.Record{
		"  dead-letter queue next: busy\n":                           {LastAttempt: true, Reason: "busy"},
		"  back in 1s: handler panicked: oops (orders/ship.go:31)\n": {Reason: "handler panicked: oops", PanickedAt: "orders/ship.go:31"},
	} {
		var out bytes.Buffer
		r.Body, r.Outcome, r.Duration, r.VisibleIn = "a", track.Retry, -1, time.Second
		view.NewText(show.To(&out), view.Terminal{}).Event(r)
		if !strings.HasSuffix(out.String(), want) {
			t.Errorf("%q, want %q", out.String(), want)
		}
	}
}

// replay returns lines as a terminal shows them: it applies carriage returns and erasing.
func replay(t *testing.T, out string) []string {
	t.Helper()
	lines := []string{""}
	for i := 0; i < len(out); {
		last := &lines[len(lines)-1]
		switch {
		case out[i] == '\n':
			lines, i = append(lines, ""), i+1
		case out[i] == '\r':
			i++
			end := strings.Index(out[i:], "\x1b[K")
			if end < 0 {
				t.Fatalf("a carriage return without an erase: %q", out[i:])
			}
			*last = out[i : i+end]
			i += end + len("\x1b[K")
		default:
			*last, i = *last+out[i:i+1], i+1
		}
	}
	return lines[:len(lines)-1]
}

func TestColour(t *testing.T) {
	var out bytes.Buffer
	play(view.NewText(show.To(&out), view.Terminal{Colour: true}))
	golden.Says(t, "the output", out.String(), "\x1b[32msucceeded   \x1b[0m", "\x1b[33mretry       \x1b[0m", "\x1b[31mdead-letter \x1b[0m")
	if strings.Contains(out.String(), "\x1b[31mred") {
		t.Error("the function's output changes the colour")
	}
}

// TestDetect: a file is not a terminal.
func TestDetect(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	golden.OK(t, err)
	defer f.Close()
	if got := view.Detect(f); got.Redraw || got.Colour || got.Width != nil {
		t.Errorf("%+v", got)
	}
}

func TestJSON(t *testing.T) {
	var out, aside bytes.Buffer
	v := view.NewJSON(&out, view.NewText(&aside, view.Terminal{}))
	play(v)
	if v.Err() != nil {
		t.Fatal(v.Err())
	}
	golden.Check(t, "lines.json", out.String())
	golden.Says(t, "the output", aside.String(), "endpoint", "│ INFO shipping it id=o-1", "warning: near the end")
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestJSONWriteError(t *testing.T) {
	v := view.NewJSON(failing{}, view.NewText(&bytes.Buffer{}, view.Terminal{}))
	v.Summary(view.Summary{})
	if v.Err() == nil {
		t.Error("no error")
	}
}

// A line of metrics is not shown, because the summary has it. Other lines of the function
// are shown.
func TestLinesOfMetricsAreLeftOut(t *testing.T) {
	var out bytes.Buffer
	v := view.NewText(show.To(&out), view.Terminal{})
	v.Event(track.Log{Invocation: 1, Text: `{"_aws":{"Timestamp":1,"CloudWatchMetrics":[]},"Service":"orders"}`})
	v.Event(track.Log{Invocation: 1, Text: `{"msg":"_aws is the word"}`})
	if got := out.String(); strings.Contains(got, "CloudWatchMetrics") || !strings.Contains(got, "_aws is the word") {
		t.Errorf("%s", got)
	}
}

// A large body is cut in text, on screen and in files. JSON has the whole body.
func TestLongBodiesAreCut(t *testing.T) {
	body := strings.Repeat("x", 5000)
	play := func(v view.View) {
		v.Event(track.Record{MessageID: "m1", Body: body, Attempt: 1, Final: true, Outcome: track.Succeeded, VisibleIn: -1})
		v.Event(track.Warning{Text: "near the end", MessageID: "m1", Body: body})
		v.Tick(track.Progress{Sent: 1, Waiting: 1, Next: body, NextIn: time.Second})
	}
	var text, lines, aside bytes.Buffer
	play(view.NewText(&text, view.Terminal{}))
	for line := range strings.Lines(text.String()) {
		if n := len([]rune(line)); n > 300 {
			t.Errorf("a line of %d characters", n)
		}
	}
	play(view.NewJSON(&lines, view.NewText(&aside, view.Terminal{})))
	if !strings.Contains(lines.String(), body) {
		t.Error("the JSON output has not all of the body")
	}
}

// report returns the report of a run with all kinds of figures.
func report() *track.Report {
	d := func(count int, min, p50, p90, p99, max float64) *track.Distribution {
		return &track.Distribution{Count: count, Sum: p50 * float64(count), Min: min, P50: p50, P90: p90, P99: p99, Max: max}
	}
	return &track.Report{
		Mode: "lambda", Handled: 13, Redriven: 1, Outcomes: map[string]int{track.Succeeded: 7, track.Retry: 4, track.DeadLetter: 2},
		DurationMs: d(13, 0, 0.3, 300.2, 700.1, 700.1), DeadlineUsedPercent: d(13, 0, 0.004, 3.34, 7.78, 99.96), Attempts: d(13, 1, 1, 2, 5, 5), AgeMs: d(13, 5, 1200, 61_000, 7_300_000, 7_300_000),
		Invocations: &track.Invocations{Count: 3, Records: d(3, 1, 2, 10, 10, 10), DurationMs: d(3, 1, 2, 700, 700, 700), TimeoutUsedPercent: d(3, 0, 0, 7, 7, 7)},
		Requests:    14, Calls: map[string]track.Calls{"ReceiveMessage": {Calls: 9, Messages: 13}, "DeleteMessageBatch": {Calls: 3, Messages: 12, Failed: 2, Errors: 1}, "SendMessageBatch": {Calls: 2, Messages: 2}},
		EMF: &track.EMF{Lines: 3, Metrics: map[string]map[string]track.EMFMetric{
			"sqsbatch": {
				"RecordsSucceeded": {Unit: "Count", Distribution: *d(3, 1, 2, 3, 3, 3)}, "Running": {Unit: "Count", Distribution: *d(3, 1, 2, 7, 7, 7)},
				"RecordsLastAttempt": {Unit: "Count", Distribution: *d(1, 1, 1, 1, 1, 1)},
			},
			"shop\x1b[2J": {"Parcels": {Unit: "Count", Distribution: *d(7, 1, 2, 3, 3, 3)}, "Weigh\x1bed": {Unit: "Kilograms", Distribution: *d(7, 0.5, 2, 3, 31.25, 31.25)}},
		}},
	}
}

func TestMetricsTable(t *testing.T) {
	var out bytes.Buffer
	v := view.NewText(show.To(&out), view.Terminal{})
	v.Header(header)
	out.Reset()
	v.Summary(view.Summary{Progress: track.Progress{Sent: 10, Succeeded: 7, DeadLettered: 3, Retried: 4, Invocations: 3}, Elapsed: 4200 * time.Millisecond, Metrics: report()})
	golden.Check(t, "metrics.txt", out.String())
}

func TestNoMetricsOfNothing(t *testing.T) {
	var out bytes.Buffer
	view.NewText(show.To(&out), view.Terminal{}).Summary(view.Summary{Metrics: track.NewStats(0).Report(track.Run{})})
	if strings.Contains(out.String(), "deliver") {
		t.Errorf("%s", out.String())
	}
}

func TestMetricsInJSON(t *testing.T) {
	var out bytes.Buffer
	v := view.NewJSON(&out, view.NewText(&bytes.Buffer{}, view.Terminal{}))
	v.Summary(view.Summary{Metrics: report()})
	if got := strings.Split(out.String(), "\n"); len(got) != 3 || !strings.HasPrefix(got[0], `{"type":"metrics","metrics":{"mode":"lambda"`) || !strings.HasPrefix(got[1], `{"type":"summary"`) {
		t.Errorf("%s", out.String())
	}
}

// playContainers shows one run of processes that poll.
func playContainers(v view.View) {
	v.Header(view.Header{
		Settings: "template.yaml", Package: "examples/orders", Function: "Orders", Mode: "poll", Processes: 2, Variables: []string{"SQSBATCH_CONCURRENCY=4"},
		Endpoint: "http://127.0.0.1:9", QueueURL: "http://127.0.0.1:9/0/orders", Visibility: time.Minute, Once: true,
		MoreQueues: []view.Queue{{URL: "http://127.0.0.1:9/0/returns", Visibility: 30 * time.Second}},
	})
	v.Event(track.Process{Change: track.Change{Process: 1, PID: 77}})
	v.Event(track.Log{Process: 1, Text: "hello"})
	v.Event(track.Warning{Text: "receiving fails"})
	v.Event(track.Warning{Text: "receiving fails, for a minute now", Serious: true})
	v.Event(track.Record{
		Process: 1, MessageID: "m1", Body: order("o-1", "ok"), Attempt: 1, Final: true,
		Outcome: track.Succeeded, Duration: time.Millisecond, Allowed: 15 * time.Minute, VisibleIn: -1,
	})
	v.Event(track.Process{Change: track.Change{Process: 1, PID: 77, Ended: "signal: killed", Again: time.Second}, CutOff: 1})
	v.Event(track.Record{
		Process: 1, MessageID: "m2", Body: order("o-2", "ok"), Attempt: 1, Final: true,
		Outcome: track.CutOff, Reason: "its process ended (signal: killed)", Duration: -1, Allowed: -1, VisibleIn: 40 * time.Second,
	})
	v.Event(track.Process{Change: track.Change{Process: 2, PID: 78, Ended: "exit status 1", Again: 500 * time.Millisecond}, CutOff: -1})
	v.Event(track.Process{Change: track.Change{Process: 1, PID: 79, Ended: "exit status 0", Asked: true}})
	v.Event(track.Process{Change: track.Change{Process: 2, PID: 80, Ended: "signal: killed", Asked: true}, CutOff: 2})
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

// A terminal shows the beginning of a flood, and counts the rest.
func TestTerminal_GroupsWhatIsTooMuch(t *testing.T) {
	for _, all := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			v := view.NewText(&out, terminal(120))
			if all {
				v.ShowAll()
			}
			for i := range 100 {
				v.Event(track.Record{Invocation: i, MessageID: fmt.Sprint(i), Body: fmt.Sprintf("b%d", i), Attempt: 1, Outcome: track.Succeeded, Duration: -1, Allowed: -1})
				v.Event(track.Record{Invocation: i, MessageID: fmt.Sprint(i), Body: fmt.Sprintf("f%d", i), Attempt: 1, Outcome: track.Retry, Reason: fmt.Sprintf("order %d: no stock", i), Duration: -1, Allowed: -1})
			}
			time.Sleep(time.Second)
			v.Tick(track.Progress{})
			v.Event(track.Warning{Text: "afterwards"})
			text := out.String()
			lines := strings.Count(text, "\n")
			if all && (lines != 201 || strings.Contains(text, "more like it")) {
				t.Errorf("%d lines:\n%s", lines, text)
			}
			if !all && (lines != 25 || strings.Count(text, "… and 89 more like it") != 2 || !strings.Contains(text, "b99") || !strings.Contains(text, "f99") || strings.Contains(text, "b50 ")) {
				t.Errorf("%d lines:\n%s", lines, text)
			}
			if !strings.HasSuffix(strings.TrimRight(text, "\x1b[K\r\n "), "afterwards") && !strings.Contains(text, "warning: afterwards") {
				t.Errorf("the next second is not shown:\n%s", text)
			}
		})
	}
}
