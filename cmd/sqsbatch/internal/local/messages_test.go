package local_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/build"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
)

// With the FIFO variant of the template, a group waits for its failed record, also in a
// container.
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

// TestNothingToSend: with an event without records, the run succeeds at once.
func TestNothingToSend(t *testing.T) {
	t.Parallel()
	text := shown(t, "", "--template", own, "--event", filepath.Join(root, "events", "empty.json"), "--once")
	golden.Says(t, "the output", text, "has no records: nothing is sent", "0 messages sent")
}

// TestManyMessages: more than one batch, in several concurrent processes.
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

const fileRecord = `{"messageId":"1","body":"record","eventSourceARN":"arn:aws:sqs:eu-west-1:123456789012:orders.fifo","attributes":{"MessageGroupId":"g"}}`

// TestEventForms: the forms of --event, and the notes about them.
func TestEventForms(t *testing.T) {
	t.Parallel()
	one := []string{"1 succeeded"}
	dir := golden.Files(t, map[string]string{
		"event.json":    `{"Records":[` + fileRecord + `]}`,
		"here.json":     `{"Records":[{"messageId":"1","body":"here","eventSourceARN":"arn:aws:sqs:us-east-1:123456789012:Work"}]}`,
		"received.json": `{"Messages":[{"MessageId":"1","ReceiptHandle":"r","Body":"received"}]}`,
		"body.json":     "{\n  \"id\": 1\n}\n",
		"notes.txt":     "no JSON",
	})
	tests := []struct {
		event, stdin string
		want         map[string][]string
		says         []string
		not          string
	}{
		{event: filepath.Join(dir, "event.json"), want: map[string][]string{"record": one}, says: []string{
			"eventSourceARN: the records come from arn:aws:sqs:us-east-1:000000000000:Work here, not from arn:aws:sqs:eu-west-1:123456789012:orders.fifo; it is not a FIFO queue, so order is not kept. --template FILE names a template with a FIFO queue\n"}},
		{event: filepath.Join(dir, "here.json"), want: map[string][]string{"here": one}, not: "eventSourceARN"},
		{event: filepath.Join(dir, "received.json"), want: map[string][]string{"received": one}, not: "is sent as"},
		{event: filepath.Join(dir, "body.json"), want: map[string][]string{"{\n  \"id\": 1\n}": one}, says: []string{"body.json is sent as the body of one message: a JSON object\n"}},
		{event: filepath.Join(dir, "notes.txt"), want: map[string][]string{"no JSON": one}, says: []string{"notes.txt is sent as the body of one message: text\n"}},
		{event: dir, want: map[string][]string{"record": one, "here": one, "received": one, "{\n  \"id\": 1\n}": one}, says: []string{
			"body.json is sent as the body", "of a directory only files *.json are sent, not notes.txt\n"}},
		{event: "-", stdin: "[\n 1\n]\n", want: map[string][]string{"[\n 1\n]": one}, says: []string{"standard input is sent as the body of one message: a JSON array of 1\n"}},
		{event: "-", stdin: "[1,2]", want: map[string][]string{"[1,2]": one}, says: []string{"a JSON array of 2; for a message of each element: jq -c '.[]' FILE | sqsbatch local PACKAGE -\n"}},
	}
	for _, tt := range tests {
		args := []string{"testdata/foreign", "--function", "Foreign", "--parameter-overrides", "Visibility=60", "--once", "--timeout", "1m", "--output", "json", "--event", tt.event}
		stdout, stderr, err := output(t, tt.stdin, args...)
		if err != nil {
			t.Errorf("%s: %v", tt.event, err)
			continue
		}
		checkFates(t, parseLines(t, stdout), tt.want)
		golden.Says(t, tt.event, stderr, tt.says...)
		if tt.not != "" && strings.Contains(stderr, tt.not) {
			t.Errorf("%s: it says %q:\n%s", tt.event, tt.not, stderr)
		}
	}
}

// TestWrongEvents: an error contains the file and the expected forms, and no part of a body.
func TestWrongEvents(t *testing.T) {
	t.Parallel()
	dir := golden.Files(t, map[string]string{"a.json": `{"id":1}`, "b.json": `{"secret": [`})
	empty := golden.Files(t, map[string]string{"c.txt": "a"})
	for event, want := range map[string][]string{
		dir:                             {"--event " + filepath.Join(dir, "b.json") + ": it begins like JSON, but is not", "a file must be an SQS event"},
		empty:                           {"has no file *.json", "a file must be an SQS event"},
		filepath.Join(dir, "none.json"): {"there is no " + filepath.Join(dir, "none.json")},
		"-":                             {"--event standard input: it is empty"},
	} {
		_, _, err := output(t, "", "testdata/foreign", "--function", "Foreign", "--event", event)
		golden.Says(t, event, fmt.Sprint(err), want...)
		if strings.Contains(fmt.Sprint(err), "secret") {
			t.Errorf("%s: the error has a body: %v", event, err)
		}
	}
}

// TestEventFromATerminal: Ctrl-C ends a run that reads a standard input without end.
func TestEventFromATerminal(t *testing.T) {
	t.Parallel()
	reader, writer := io.Pipe()
	defer writer.Close()
	interrupts := make(chan os.Signal, 1)
	interrupts <- os.Interrupt
	err := runLocal(t.Context(), []string{"testdata/foreign", "--function", "Foreign", "--once", "--event", "-"}, cli.IO{Stdin: reader, Stdout: show.To(io.Discard), Stderr: show.To(io.Discard), Interrupts: interrupts})
	if err == nil || err.Error() != "interrupted" {
		t.Errorf("error %v", err)
	}
}

// TestNoGoCommand: the error is about the go command, and not about the package.
func TestNoGoCommand(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, args := range [][]string{{"--template", own}, {"testdata/foreign", "--function", "Foreign", "-"}} {
		err := runWith(t.Context(), args, cli.IO{Stdin: strings.NewReader(""), Stdout: show.To(io.Discard), Stderr: show.To(io.Discard)}, build.Go{})
		if err == nil || !strings.HasPrefix(err.Error(), "the go command is not in PATH") {
			t.Errorf("%q: error %v", args, err)
		}
	}
}
