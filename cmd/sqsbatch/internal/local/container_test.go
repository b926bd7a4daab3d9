package local_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
)

// orders makes input of so many orders with an sku.
func orders(n int, sku string) string {
	var in strings.Builder
	for i := range n {
		fmt.Fprintf(&in, `{"id":"o-%d","sku":%q,"quantity":1}`+"\n", i, sku)
	}
	return in.String()
}

func ofType(lines []line, kind string) (list []line) {
	for _, l := range lines {
		if l.Type == kind {
			list = append(list, l)
		}
	}
	return list
}

// TestPollSamples: in a container the sample orders end as they do on Lambda.
func TestPollSamples(t *testing.T) {
	t.Parallel()
	lines, err := run(t, "", "--mode", "poll", "--once", "--timeout", "2m", "--template", filepath.Join(root, "template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	s := summary(t, lines)
	if s.Sent != 10 || s.Succeeded != 7 || s.DeadLettered != 3 || s.Retried != 6 || s.Remaining != 0 || s.Invocations != 0 || s.Starts != 1 || s.Crashes != 0 {
		t.Errorf("summary: %+v", s)
	}
	for _, l := range ofType(lines, "record") {
		redriven := l.Outcome == "dead-letter" && l.Attempt == 5
		if redriven != (l.Process == 0) || !redriven && (l.DurationMs == nil || l.AllowedMs == nil || *l.AllowedMs != 900_000) {
			t.Errorf("who handled it, and in what time: %+v", l)
		}
		if l.Outcome == "retry" && strings.Contains(l.Body, "busy:1s") && (l.VisibleInMs == nil || *l.VisibleInMs < 900 || *l.VisibleInMs > 1100) {
			t.Errorf("RetryAfter of 1 s: %+v", l)
		}
	}
	p := ofType(lines, "process")
	if len(p) != 2 || p[0].Ended != "" || p[1].Ended != "exit status 0" || !p[1].Asked || p[1].CutOff != 0 {
		t.Errorf("processes: %+v", p)
	}
}

// What a killed process held comes back and is done by the one that follows it.
func TestPollKilled(t *testing.T) {
	t.Parallel()
	var out *watched
	out = &watched{saw: func(l line) {
		if l.Type == "record" && l.Outcome == "succeeded" && !out.done {
			out.done = true
			killProcess(t, out.pid)
		}
	}}
	var side bytes.Buffer
	err := runLocal(t.Context(), []string{
		"--mode", "poll", "--template", filepath.Join(root, "template.yaml"), "--env", "SQSBATCH_VISIBILITY=4s", "--env", "SQSBATCH_CONCURRENCY=4",
		"--once", "--timeout", "1m", "--output", "json", "-",
	}, cli.IO{Stdin: strings.NewReader(orders(4, "slow:100ms") + orders(16, "slow:2s")), Stdout: out, Stderr: &side})
	if err != nil {
		t.Fatalf("%v\n%s", err, side.String())
	}
	s := summary(t, out.lines)
	if s.Sent != 20 || s.Succeeded != 20 || s.Starts != 2 || s.Crashes != 1 || s.Remaining != 0 {
		t.Errorf("summary: %+v", s)
	}
	cut, told := 0, 0
	for _, l := range out.lines {
		switch {
		case l.Outcome == "cut-off":
			cut++
			if l.VisibleInMs == nil || *l.VisibleInMs <= 0 || *l.VisibleInMs > 4000 || !strings.Contains(l.Reason, "signal: killed") {
				t.Errorf("a record that was cut off: %+v", l)
			}
		case l.Type == "process" && l.Ended != "" && !l.Asked:
			told += l.CutOff
			if l.Ended != "signal: killed" || l.AgainInMs == nil {
				t.Errorf("the process's end: %+v", l)
			}
		}
	}
	if cut == 0 || cut != told || s.Retried != cut {
		t.Errorf("%d records cut off, the process's end tells of %d, the summary of %d that came back", cut, told, s.Retried)
	}
}

// TestPollStopped: Ctrl-C lets the process drain, and nothing is stranded.
func TestPollStopped(t *testing.T) {
	t.Parallel()
	interrupts := make(chan os.Signal, 2)
	var out *watched
	out = &watched{saw: func(l line) {
		if l.Type == "record" && !out.done {
			out.done = true
			interrupts <- os.Interrupt
		}
	}}
	var side bytes.Buffer
	err := runLocal(context.Background(), []string{
		"--mode", "poll", "--processes", "2", "--template", filepath.Join(root, "template.yaml"), "--env", "SQSBATCH_CONCURRENCY=3",
		"--timeout", "1m", "--output", "json", "-",
	}, cli.IO{Stdin: strings.NewReader(orders(400, "slow:400ms")), Stdout: out, Stderr: &side, Interrupts: interrupts})
	if err != nil {
		t.Fatalf("%v\n%s", err, side.String())
	}
	s := summary(t, out.lines)
	if s.Succeeded == 0 || s.Remaining == 0 || s.Succeeded+s.Remaining != s.Sent || s.Retried != 0 || s.Crashes != 0 {
		t.Errorf("summary: %+v", s)
	}
	ends := 0
	for _, p := range ofType(out.lines, "process") {
		if p.Ended == "" {
			continue
		}
		ends++
		if p.Ended != "exit status 0" || !p.Asked || p.CutOff > 0 {
			t.Errorf("a process's end: %+v", p)
		}
	}
	if last := ofType(out.lines, "process"); ends != 2 || last[len(last)-1].CutOff != 0 {
		t.Errorf("%d processes ended; the last holds nothing: %+v", ends, last)
	}
}

// watched takes JSON lines and shows each to saw.
type watched struct {
	saw   func(line)
	lines []line
	pid   int // of the latest process
	done  bool
	rest  []byte
}

func (w *watched) Write(p []byte) (int, error) {
	w.rest = append(w.rest, p...)
	for {
		text, after, ok := bytes.Cut(w.rest, []byte("\n"))
		if !ok {
			return len(p), nil
		}
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			return 0, fmt.Errorf("%q: %w", text, err)
		}
		w.lines = append(w.lines, l)
		if l.Type == "process" {
			w.pid = l.PID
		}
		w.saw(l)
		w.rest = slices.Clone(after)
	}
}

func killProcess(t *testing.T, pid int) {
	p, err := os.FindProcess(pid)
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		t.Errorf("kill process %d: %v", pid, err)
	}
}

// TestPollSeveralQueues: the queues of all of the function's events are polled,
// and --queue chooses one. A filter is Lambda's, and told not to count.
func TestPollSeveralQueues(t *testing.T) {
	t.Parallel()
	tests := []struct {
		args           []string
		polled, silent []string
	}{
		{nil, []string{"first", "second"}, nil},
		{[]string{"--queue", "Second"}, []string{"second"}, []string{"first"}},
	}
	for _, tt := range tests {
		interrupts := make(chan os.Signal, 1)
		side := &cancelOn{what: "\nqueue        http"} // the header is there
		reader, input := io.Pipe()                     // so that nothing ends before
		var out *watched
		out = &watched{saw: func(l line) {
			switch {
			case l.Type == "process" && l.Ended == "":
				for _, queue := range append(tt.polled, tt.silent...) {
					sendTo(t, side.text.String(), queue)
				}
			case l.Type == "record" && len(ofType(out.lines, "record")) == len(tt.polled):
				interrupts <- os.Interrupt
			}
		}}
		args := append([]string{
			filepath.Join(root, "examples", "orders"), "--mode", "poll", "--template", "testdata/two.yaml", "--timeout", "1m", "--output", "json", "-",
		}, tt.args...)
		err := runLocal(context.Background(), args, cli.IO{Stdin: reader, Stdout: out, Stderr: side, Interrupts: interrupts})
		_ = input.Close()
		if err != nil {
			t.Fatalf("%v\n%s", err, side.text.String())
		}
		s := summary(t, out.lines)
		if s.Sent != len(tt.polled) || s.Succeeded != len(tt.polled) || s.Filtered != 0 {
			t.Errorf("%q: %+v", tt.args, s)
		}
		if !strings.Contains(side.text.String(), "the FilterCriteria of event Second apply on Lambda only") {
			t.Errorf("%q: nothing is said of the filters:\n%s", tt.args, side.text.String())
		}
	}
}

// sendTo sends an order to a queue at the endpoint that the header names.
func sendTo(t *testing.T, header, queue string) {
	endpoint := regexp.MustCompile(`(?m)^endpoint +(\S+)$`).FindStringSubmatch(header)
	if endpoint == nil {
		t.Errorf("no endpoint in:\n%s", header)
		return
	}
	client := sqs.New(sqs.Options{Region: "us-east-1", BaseEndpoint: &endpoint[1], Credentials: credentials.NewStaticCredentialsProvider("test", "test", "")})
	_, err := client.SendMessage(context.Background(), &sqs.SendMessageInput{
		QueueUrl: aws.String(endpoint[1] + "/000000000000/" + queue), MessageBody: aws.String(`{"id":"` + queue + `","sku":"ok","quantity":1}`),
	})
	if err != nil {
		t.Errorf("send to %s: %v", queue, err)
	}
}

// TestPollCannotStart: a program that never polls is not started again and again.
func TestPollCannotStart(t *testing.T) {
	t.Parallel()
	tests := []struct {
		args []string
		want []string
	}{
		{[]string{"testdata/exits", "--template", filepath.Join(root, "template.yaml"), "--no-samples"},
			[]string{"testdata/exits cannot start", "exit status 3", "no configuration", "handler.Run"}},
		{[]string{"testdata/foreign", "--function", "Foreign", "--no-samples"}, []string{"cannot start", "AWS_LAMBDA_RUNTIME_API", "handler.Run"}},
		{[]string{"--template", filepath.Join(root, "template.yaml"), "--env", "SQSBATCH_WAIT=21s", "--processes", "3"},
			[]string{"cannot start", "exit status 1", "must be whole seconds from 1s to 20s", "SQSBATCH_WAIT"}},
	}
	for _, tt := range tests {
		err := runLocal(t.Context(), append(tt.args, "--mode", "poll", "--timeout", "1m"), cli.IO{Stdout: io.Discard, Stderr: io.Discard})
		if err == nil {
			t.Errorf("%q: no error", tt.args)
			continue
		}
		golden.Says(t, fmt.Sprint(tt.args), err.Error(), tt.want...)
	}
}
