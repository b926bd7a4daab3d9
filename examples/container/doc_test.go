package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/test/docpage"
	"github.com/sqsbatch/sqsbatch/test/testqueue"
)

const docs = "../../docs/"

// block is the only block of JSON on a page that begins with the given text.
func block(t *testing.T, page, start string) string {
	t.Helper()
	var found []string
	for _, m := range regexp.MustCompile("(?s)```json\n(.*?)```\n").FindAllStringSubmatch(docpage.Read(t, docs+page), -1) {
		if strings.HasPrefix(m[1], start) {
			found = append(found, m[1])
		}
	}
	if len(found) != 1 {
		t.Fatalf("%s has %d blocks of JSON that begin with %s, want 1", page, len(found), start)
	}
	return found[0]
}

func parse(t *testing.T, text string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), v); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
}

// logged runs a process for a script, and returns the lines of its log and what it asked of
// SQS.
func logged(t *testing.T, timeout time.Duration, script func(q *testqueue.Queue)) (lines []map[string]any, operations []string) {
	t.Helper()
	var out bytes.Buffer // slog's handler has a lock
	synctest.Test(t, func(t *testing.T) {
		q := testqueue.New(t, testqueue.Standard)
		stop := q.StartPoll(batch.HandlerFunc(handle), handler.Config{
			RecordTimeout: timeout, Logger: slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{ReplaceAttr: asInAContainer})),
		})
		script(q)
		q.Server().ClearFaults()
		stop()
		time.Sleep(6 * time.Minute) // for the handler that hangs
		operations = q.Calls()
	})
	for text := range strings.Lines(out.String()) {
		var l map[string]any
		parse(t, text, &l)
		lines = append(lines, l)
	}
	return lines, operations
}

func inject(t *testing.T, q *testqueue.Queue, fault sqs.Fault) {
	t.Helper()
	if err := q.Server().Inject(fault); err != nil {
		t.Fatal(err)
	}
}

// eventful runs a process through most of what can happen to one.
func eventful(t *testing.T) (lines []map[string]any, operations []string) {
	return logged(t, 5*time.Minute, func(q *testqueue.Queue) {
		q.Send("fine", "permanent", "busy", "hang")
		time.Sleep(10 * time.Minute)
		inject(t, q, sqs.Fault{Kind: sqs.Failure, Operation: "ReceiveMessage", Times: 5})
		time.Sleep(2 * time.Minute)
		q.Send("long")
		time.Sleep(time.Minute)
	})
}

func handle(ctx context.Context, r batch.Record) error {
	switch r.Body {
	case "permanent":
		return batch.Permanent(errors.New("no such customer"))
	case "busy":
		return errors.New("the printer is out of paper")
	case "hang":
		time.Sleep(6 * time.Minute) // whatever its context says
	case "long":
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

// asInAContainer names keys as the container's own logger does.
func asInAContainer(groups []string, a slog.Attr) slog.Attr {
	switch {
	case len(groups) > 0:
	case a.Key == slog.TimeKey:
		a.Key = "timestamp"
	case a.Key == slog.MessageKey:
		a.Key = "message"
	}
	return a
}

// The policy allows what a process asks of SQS, and nothing else.
func TestThePolicyAllowsWhatIsAsked(t *testing.T) {
	var policy struct {
		Statement []struct{ Action []string }
	}
	parse(t, block(t, "containers.md", "{\n  \"Version\""), &policy)
	allowed, asked := map[string]bool{}, map[string]bool{}
	for _, s := range policy.Statement {
		for _, a := range s.Action {
			allowed[a] = true
		}
	}
	_, operations := eventful(t)
	for _, o := range operations {
		if o != "SendMessage" { // which is the test's
			asked["sqs:"+strings.TrimSuffix(o, "Batch")] = true // "SQS API permissions": as the single operation
		}
	}
	if !maps.Equal(asked, allowed) {
		t.Errorf("asked for\n %v\nallowed\n %v", slices.Sorted(maps.Keys(asked)), slices.Sorted(maps.Keys(allowed)))
	}
}

// general is a line's message without the queue's name, numbers and times.
func general(l map[string]any) string {
	message, _ := l["message"].(string)
	message = regexp.MustCompile(`queue \S+:`).ReplaceAllString(message, "queue:")
	return regexp.MustCompile(`[0-9][0-9.]*m?s?`).ReplaceAllString(message, "0")
}

// The page's warnings of trouble that lasts are those of a process that may not delete, and
// of one whose queue is gone.
func TestTheWarningsAreReal(t *testing.T) {
	real := map[string]bool{}
	for _, fault := range []sqs.Fault{
		{Kind: sqs.Failure, Operation: "DeleteMessageBatch", Code: "AccessDenied"},
		{Kind: sqs.Failure, Operation: "ReceiveMessage", Code: "QueueDoesNotExist"},
	} {
		lines, _ := logged(t, 0, func(q *testqueue.Queue) {
			time.Sleep(time.Second)
			inject(t, q, fault)
			for range 14 {
				q.Send("fine")
			}
			time.Sleep(2 * time.Minute)
		})
		for _, l := range lines {
			real[general(l)] = true
		}
	}
	_, block, _ := strings.Cut(docpage.Read(t, docs+"observability/log.md"), "```text\n")
	block, _, _ = strings.Cut(block, "```")
	if block == "" {
		t.Fatal("the page shows no warnings")
	}
	for line := range strings.Lines(block) {
		if !real[general(map[string]any{"message": strings.TrimSpace(line)})] {
			t.Errorf("no process writes\n%sbut\n%s", line, strings.Join(slices.Sorted(maps.Keys(real)), "\n"))
		}
	}
}

// The lines of the log are such as a process writes.
func TestTheLogIsReal(t *testing.T) {
	shape := func(l map[string]any) string {
		outcome, _ := l["outcome"].(string)
		return general(l) + " " + outcome + " " + strings.Join(slices.Sorted(maps.Keys(l)), " ")
	}
	real := map[string]bool{}
	lines, _ := eventful(t)
	for _, l := range lines {
		real[shape(l)] = true
	}
	for text := range strings.Lines(block(t, "observability/log.md", `{"timestamp":"2026-11-21T15:01:0`)) {
		var l map[string]any
		if parse(t, text, &l); !real[shape(l)] {
			t.Errorf("no process writes a line like\n%s%s\nbut\n%s", text, shape(l), strings.Join(slices.Sorted(maps.Keys(real)), "\n"))
		}
	}
}

// The status has every field, and no other.
func TestTheStatusIsReal(t *testing.T) {
	text := block(t, "containers.md", "[{")
	var status []batch.Status
	parse(t, text, &status)
	whole, err := json.Marshal(status)
	if err != nil {
		t.Fatal(err)
	}
	var shown, all any
	parse(t, text, &shown)
	parse(t, string(whole), &all)
	if !reflect.DeepEqual(shown, all) {
		t.Errorf("the page has\n%v\nwant\n%v", shown, all)
	}
}
