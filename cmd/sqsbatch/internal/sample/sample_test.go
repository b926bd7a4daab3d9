package sample_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"go.uber.org/goleak"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/message"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/sample"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
	"github.com/sqsbatch/sqsbatch/envelope/eventbridge"
	"github.com/sqsbatch/sqsbatch/envelope/s3event"
	"github.com/sqsbatch/sqsbatch/envelope/sns"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func run(t *testing.T, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	var out, side bytes.Buffer
	tio := cli.IO{Args: append([]string{"event"}, args...), Stdout: show.To(&out), Stderr: show.To(&side), Interrupts: make(chan os.Signal)}
	status = cli.Run(t.Context(), cli.Root(tio, sample.Command(tio)))
	return out.String(), side.String(), status
}

func made(t *testing.T, args ...string) string {
	t.Helper()
	out, side, status := run(t, args...)
	if status != 0 {
		t.Fatalf("%q: status %d: %s", args, status, side)
	}
	return out
}

func TestEvent_IsThatOfMessagesThatWereReceived(t *testing.T) {
	text := made(t, "--body", `{"id":"o-{{n}}","quantity":{{int 1 5}},"kind":"{{pick "a" "b"}}","key":"{{uuid}}"}`, "--count", "25",
		"--queue", "orders.fifo", "--group", "g{{int 1 2}}", "--attribute", "tenant=blue =1", "--attempt", "3")
	messages, sources, err := message.Event([]byte(text))
	if err != nil || !slices.Equal(sources, []string{"arn:aws:sqs:us-east-1:123456789012:orders.fifo"}) || len(messages) != 25 {
		t.Fatalf("%d messages of %v: %v", len(messages), sources, err)
	}
	for _, m := range messages {
		if m.Attempt != 3 || m.GroupID != "g1" && m.GroupID != "g2" || m.Attributes["tenant"].StringValue != "blue =1" || !json.Valid([]byte(m.Body)) {
			t.Errorf("a message is %+v", m)
		}
	}
	var e events.SQSEvent
	if err := json.Unmarshal([]byte(text), &e); err != nil || e.Records[0].Md5OfBody == "" || e.Records[0].ReceiptHandle == "" || e.Records[0].Attributes["SequenceNumber"] == "" {
		t.Errorf("the event has no ids or checksums: %v\n%s", err, text)
	}
}

func TestEvent_HasEnvelopesThatTheToolkitOpens(t *testing.T) {
	for wrap, x := range map[string]struct{ body, want string }{
		"sns":         {"<text> {{n}}", "<text> 1"},
		"eventbridge": {`{"id":{{n}}}`, `{"id":1}`},
		"s3":          {"a b/ü+%.csv", "a b/ü+%.csv"},
	} {
		messages, _, err := message.Event([]byte(made(t, "--wrap", wrap, "--body", x.body)))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		keep := batch.HandlerFunc(func(_ context.Context, r batch.Record) error { got = r.Body; return nil })
		h := map[string]batch.Handler{
			"sns": sns.Unwrap(keep), "eventbridge": eventbridge.Unwrap(keep),
			"s3": s3event.Each(func(_ context.Context, r events.S3EventRecord) error { got = r.S3.Object.URLDecodedKey; return nil }),
		}[wrap]
		if err := h.Handle(t.Context(), batch.Record{Body: messages[0].Body}); err != nil || got != x.want {
			t.Errorf("%s has %q: %v", wrap, got, err)
		}
	}
}

func TestBodies_RepeatWithTheirSeed(t *testing.T) {
	args := []string{"--output", "bodies", "--count", "3", "--body", `{{n}} {{uuid}} {{int 1 1000000}}`}
	first, again, other := made(t, args...), made(t, args...), made(t, append(args, "--seed", "2")...)
	if first != again || first == other || strings.Count(first, "\n") != 3 {
		t.Errorf("the bodies are\n%s, again\n%s, and with another seed\n%s", first, again, other)
	}
}

func TestBodies_KeepTheirRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		made(t, "--output", "bodies", "--count", "101", "--rate", "50")
		if took := time.Since(begun); took != 2*time.Second {
			t.Errorf("101 bodies at 50 a second took %s", took)
		}
	})
}

func TestErrors_NameTheFlag(t *testing.T) {
	for _, x := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"--count", "0"}, 2, "--count is 0; it must be 1 to 10000"},
		{[]string{"--count", "10001"}, 2, "--count is 10001"},
		{[]string{"--rate", "5"}, 2, "--rate is 5; it must not be negative, and is for --output bodies"},
		{[]string{"--attempt", "0"}, 2, "--attempt is 0"},
		{[]string{"--body", "{{nothing}}"}, 2, "--body: "},
		{[]string{"--group", "{{"}, 2, "--group: "},
		{[]string{"--body", "{{int 5 1}}"}, 1, "int 5 1: the second number is smaller"},
		{[]string{"--body", "{{pick}}"}, 1, "pick needs values"},
		{[]string{"--wrap", "eventbridge", "--body", "text"}, 1, "message 1: the detail of an event of EventBridge is a JSON object"},
		{[]string{"--wrap", "kafka"}, 2, "--wrap"},
		{[]string{"--queue", "a b"}, 2, "--queue a b: "},
		{[]string{"--attribute", "x"}, 2, `--attribute is "x"; it must be written as NAME=VALUE`},
		{[]string{"--body", ""}, 1, "message 1: "},
		{[]string{"--output", "bodies", "--body", "a\nb"}, 1, "message 1 has a line feed"},
		{[]string{"--count", "8", "--body", strings.Repeat("x", 1<<20)}, 1, "and Lambda takes 6291456"},
		{[]string{"one"}, 2, "the number of arguments is 1"},
	} {
		out, side, status := run(t, x.args...)
		if status != x.status || out != "" || !strings.Contains(side, x.want) {
			t.Errorf("%.100q: status %d, %q, %q", x.args, status, out, side)
		}
	}
}
