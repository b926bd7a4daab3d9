package local_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/local"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/message"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
)

// try runs a trial like a command.
func try(ctx, kill context.Context, stderr io.Writer, messages []message.Message, args ...string) (results []local.TrialResult, err error) {
	var t local.Trial
	tio := cli.IO{Args: append([]string{"try", "QUEUE"}, args...), Stdout: show.To(io.Discard), Stderr: show.To(stderr)}
	cmd := &cobra.Command{
		Use: "try QUEUE [flags] [package]",
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, arg := range args[1:] {
				if err := t.Argument(arg); err != nil {
					return err
				}
			}
			results, err = t.Run(cmd.Context(), kill, tio, &programs, messages)
			return err
		},
	}
	t.Flags(cmd)
	err = cli.Root(tio, cmd).ExecuteContext(ctx)
	return results, err
}

func bodies(texts ...string) (list []message.Message) {
	for _, text := range texts {
		list = append(list, message.Message{Body: text, Attempt: 5})
	}
	return list
}

// tried runs a trial of testdata/trial and returns the handler's calls, sorted.
func tried(t *testing.T, function string, messages []message.Message, args ...string) (results []local.TrialResult, calls []string) {
	t.Helper()
	var side bytes.Buffer
	args = append(args, "testdata/trial", "--function", function, "--verbose", "--timeout", "1m")
	results, err := try(t.Context(), t.Context(), &side, messages, args...)
	if err != nil || len(results) != len(messages) {
		t.Fatalf("%d results of %d messages, error %v; it printed\n%s", len(results), len(messages), err, side.String())
	}
	for line := range strings.Lines(side.String()) {
		if _, call, ok := strings.Cut(line, "│ handled "); ok {
			calls = append(calls, strings.TrimSpace(call))
		}
	}
	return results, calls
}

// TestTrial: each message is handled once, as a first attempt, for every outcome.
func TestTrial(t *testing.T) {
	t.Parallel()
	texts := []string{"fine", "at once", "later", "permanent", "hang", "filter me", "bad \x01", "bad \xff", "fine", "send"}
	results, calls := tried(t, "Standard", bodies(texts...))
	want := []struct{ outcome, reason string }{
		{"succeeded", ""},
		{"retry", "not now"},
		{"retry", "not yet"},
		{"dead-letter", "never"},
		{"abandoned", ""},
		{"filtered", "matches no filter"},
		{local.NotSent, "InvalidMessageContents"},
		{local.NotSent, "not UTF-8"},
		{"succeeded", ""},
		{"succeeded", ""}, // the message that it sends is not handled
	}
	for i, r := range results {
		if r.Outcome != want[i].outcome || !strings.Contains(r.Reason, want[i].reason) || r.Blocked {
			t.Errorf("%q: %+v, want %v", texts[i], r, want[i])
		}
	}
	checkCalls(t, calls, map[string]int{"fine": 2, "at once": 1, "later": 1, "permanent": 1, "hang": 1, "send": 1})
}

// checkCalls checks the number of the handler's calls for each body, all with a first attempt.
func checkCalls(t *testing.T, calls []string, want map[string]int) {
	t.Helper()
	got := map[string]int{}
	for _, call := range calls {
		body, rest, _ := strings.Cut(call, ", ")
		got[body]++
		if !strings.HasPrefix(rest, "attempt 1,") {
			t.Errorf("the handler was called for %s", call)
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("calls of the handler: %v, want %v", got, want)
	}
}

// On a FIFO queue, all messages of a group are tried in order, also after a failure.
// Deduplication drops none.
func TestTrialOfFIFOQueue(t *testing.T) {
	t.Parallel()
	in := func(group, id, body string) message.Message {
		return message.Message{GroupID: group, DeduplicationID: id, Body: body}
	}
	messages := []message.Message{
		in("a", "same", "permanent"), in("a", "same", "fine"), in("b", "1", "at once"), in("a", "2", "later"),
		in("b", "same", "later"), in("a", "3", "fine"), in("a", "4", "\xff"), in("b", "2", "fine"),
	}
	results, calls := tried(t, "Ordered", messages)
	var got []string
	for _, r := range results {
		text := r.Outcome
		if r.Blocked {
			text += ", blocked"
		}
		got = append(got, text)
	}
	want := []string{
		"dead-letter", "succeeded", "retry", "retry",
		"retry, blocked", "succeeded, blocked", local.NotSent, "succeeded, blocked",
	}
	if !slices.Equal(got, want) {
		t.Errorf("outcomes\n got %q\nwant %q", got, want)
	}
	ofB := func(call string) bool { return strings.Contains(call, `group "b"`) }
	ofA := func(call string) bool { return !ofB(call) }
	calls = append(slices.DeleteFunc(slices.Clone(calls), ofB), slices.DeleteFunc(calls, ofA)...) // the groups are tried concurrently
	var wantCalls []string
	for _, i := range []int{0, 1, 3, 5, 2, 4, 7} {
		m := messages[i]
		wantCalls = append(wantCalls, fmt.Sprintf("%s, attempt 1, group %q, deduplication id %q", m.Body, m.GroupID, m.DeduplicationID))
	}
	if !slices.Equal(calls, wantCalls) {
		t.Errorf("calls of the handler:\n got %q\nwant %q", calls, wantCalls)
	}
}

// A message keeps its attributes, and also its group on a standard queue.
func TestTrialOfAttributes(t *testing.T) {
	t.Parallel()
	_, calls := tried(t, "Standard", []message.Message{{
		Body: "fine", GroupID: "g", TraceHeader: "Root=1-5759e988-bd862e3fe1be46a994272793",
		Attributes: map[string]batch.MessageAttribute{"kind": {DataType: "String", StringValue: "a"}},
	}})
	want := `fine, attempt 1, group "g", deduplication id "", kind "a", trace "Root=1-5759e988-bd862e3fe1be46a994272793"`
	if !slices.Equal(calls, []string{want}) {
		t.Errorf("calls of the handler: %q, want %q", calls, want)
	}
}

// A message that was not started for lack of time is sent again, as a new message.
func TestTrialOfWhatWasNotStarted(t *testing.T) {
	t.Parallel()
	results, calls := tried(t, "Standard", bodies("pause", "pause", "pause", "pause"), "--env", "SQSBATCH_CONCURRENCY=1")
	for i, r := range results {
		if r.Outcome != "succeeded" {
			t.Errorf("message %d: %+v", i, r)
		}
	}
	checkCalls(t, calls, map[string]int{"pause": 4})
}

// A crash is the outcome of the messages of its invocation, and the others are tried.
func TestTrialOfCrash(t *testing.T) {
	t.Parallel()
	results, calls := tried(t, "Single", bodies("exit", "fine"))
	if r := results[0]; r.Outcome != "cut-off" || !strings.Contains(r.Reason, "exit status 7") {
		t.Errorf("a crash: %+v", r)
	}
	if r := results[1]; r.Outcome != "succeeded" {
		t.Errorf("after a crash: %+v", r)
	}
	checkCalls(t, calls, map[string]int{"exit": 1, "fine": 1})
}

// At ctx's end, running invocations are finished. At kill's end, they are not. Both return
// the results so far.
func TestTrialInterrupted(t *testing.T) {
	t.Parallel()
	enough := errors.New("enough")
	for outcome, body := range map[string]string{"succeeded": "pause", "cut-off": "hang"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		soft, kill := ctx, t.Context()
		if outcome == "cut-off" {
			soft, kill = t.Context(), ctx
		}
		side := &script{steps: map[string]func(string){"│ handled ": func(string) { cancel(enough) }}}
		results, err := try(soft, kill, side, bodies(slices.Repeat([]string{body}, 100)...), "testdata/trial", "--function", "Single", "--verbose")
		outcomes := map[string]int{}
		for _, r := range results {
			outcomes[r.Outcome]++
		}
		if !errors.Is(err, enough) || outcomes[outcome] == 0 || outcomes[""] == 0 || len(outcomes) != 2 {
			t.Errorf("%s: outcomes %v, error %v", body, outcomes, err)
		}
	}
}

// TestTrialErrors: the error of each mistake contains the fix.
func TestTrialErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		args []string
		want []string
	}{
		{"another endpoint", []string{"--env", "AWS_ENDPOINT_URL_SQS=http://x"}, []string{"--env AWS_ENDPOINT_URL_SQS", "`sqsbatch try -h`"}},
		{"two packages", []string{"a", "b"}, []string{"two packages, a and b", "`sqsbatch try -h`"}},
		{"negative timeout", []string{"--timeout", "-1s"}, []string{"--timeout is -1s"}},
		{"no template", nil, []string{"no template.yaml", "`sqsbatch try QUEUE .`"}},
		{"cannot start", []string{"testdata/exits", "--template", own}, []string{"cannot start", "exit status 3", "no configuration"}},
		{"timeout", []string{"testdata/trial", "--function", "Standard", "--timeout", "1ms"}, []string{"--timeout: not everything was tried after 1ms"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var side bytes.Buffer
			_, err := try(t.Context(), t.Context(), &side, bodies("pause"), tt.args...)
			if err == nil {
				t.Fatalf("no error; it printed\n%s", side.String())
			}
			golden.Says(t, "the error", err.Error(), tt.want...)
		})
	}
}
