package local_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
	"github.com/sqsbatch/sqsbatch/test/docpage"
)

// TestPollSamples: the sample orders have the same outcomes in a container as on Lambda.
func TestPollSamples(t *testing.T) {
	t.Parallel()
	lines := done(t, "", "--mode", "poll", "--once", "--timeout", "2m", "--template", own)
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

// Records that a killed process held come back, and the next process handles them.
func TestPollKilled(t *testing.T) {
	t.Parallel()
	var w watched
	w.saw = func(l line) {
		if l.Type == "record" && l.Outcome == "succeeded" && w.once() {
			p, err := os.FindProcess(w.pid)
			if err != nil || p.Kill() != nil {
				t.Errorf("process %d is not killed", w.pid)
			}
		}
	}
	lines := w.run(t, strings.NewReader(orders(1, "slow:100ms")+orders(11, "slow:2s")),
		"--mode", "poll", "--template", own, "--env", "SQSBATCH_VISIBILITY=4s", "--env", "SQSBATCH_CONCURRENCY=4", "--once", "--timeout", "1m", "-")
	s := summary(t, lines)
	if s.Sent != 12 || s.Succeeded != 12 || s.Starts != 2 || s.Crashes != 1 || s.Remaining != 0 {
		t.Errorf("summary: %+v", s)
	}
	cut, reported := 0, 0
	for _, l := range lines {
		switch {
		case l.Outcome == "cut-off":
			cut++
			if l.VisibleInMs == nil || *l.VisibleInMs <= 0 || *l.VisibleInMs > 4000 || !strings.Contains(l.Reason, "signal: killed") {
				t.Errorf("a record that was cut off: %+v", l)
			}
		case l.Type == "process" && l.Ended != "" && !l.Asked:
			reported += l.CutOff
			if l.Ended != "signal: killed" || l.AgainInMs == nil {
				t.Errorf("the process's end: %+v", l)
			}
		}
	}
	if cut == 0 || cut != reported || s.Retried != cut {
		t.Errorf("%d records cut off, the process's end shows %d, the summary %d that came back", cut, reported, s.Retried)
	}
}

// TestPollStopped: after Ctrl-C the process drains, and no message stays in flight.
func TestPollStopped(t *testing.T) {
	t.Parallel()
	w := watched{interrupts: make(chan os.Signal, 2)}
	w.saw = func(l line) {
		if l.Type == "record" && w.once() {
			w.interrupts <- os.Interrupt
		}
	}
	lines := w.run(t, strings.NewReader(orders(400, "slow:400ms")),
		"--mode", "poll", "--processes", "2", "--template", own, "--env", "SQSBATCH_CONCURRENCY=3", "--timeout", "1m", "-")
	s := summary(t, lines)
	if s.Succeeded == 0 || s.Remaining == 0 || s.Succeeded+s.Remaining != s.Sent || s.Retried != 0 || s.Crashes != 0 {
		t.Errorf("summary: %+v", s)
	}
	ends := 0
	for _, p := range ofType(lines, "process") {
		if p.Ended == "" {
			continue
		}
		ends++
		if p.Ended != "exit status 0" || !p.Asked || p.CutOff > 0 {
			t.Errorf("a process's end: %+v", p)
		}
	}
	if last := ofType(lines, "process"); ends != 2 || last[len(last)-1].CutOff != 0 {
		t.Errorf("%d processes ended; the last holds nothing: %+v", ends, last)
	}
}

// TestPollSeveralQueues: the process polls the queues of all of the function's events, and
// --queue selects one. A warning says that filters have no effect.
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
		reader, input := io.Pipe() // so that the run does not end before
		w := watched{interrupts: make(chan os.Signal, 1)}
		w.saw = func(l line) {
			switch {
			case l.Type == "process" && l.Ended == "":
				for _, queue := range append(tt.polled, tt.silent...) {
					sendTo(t, w.side.String(), queue)
				}
			case l.Type == "record" && len(ofType(w.lines, "record")) == len(tt.polled):
				w.interrupts <- os.Interrupt
			}
		}
		lines := w.run(t, reader, append([]string{
			filepath.Join(root, "examples", "orders"), "--mode", "poll", "--template", "testdata/two.yaml", "--timeout", "1m", "-",
		}, tt.args...)...)
		_ = input.Close()
		s := summary(t, lines)
		if s.Sent != len(tt.polled) || s.Succeeded != len(tt.polled) || s.Filtered != 0 {
			t.Errorf("%q: %+v", tt.args, s)
		}
		golden.Says(t, fmt.Sprint(tt.args), w.side.String(), "the FilterCriteria of event Second apply on Lambda only")
	}
}

// sendTo sends an order to a queue at the endpoint that the header names.
func sendTo(t *testing.T, header, queue string) {
	client, url := clientOf(header)
	_, err := client.SendMessage(context.Background(), &sqs.SendMessageInput{
		QueueUrl: aws.String(url + "/000000000000/" + queue), MessageBody: aws.String(`{"id":"` + queue + `","sku":"ok","quantity":1}`),
	})
	if err != nil {
		t.Errorf("send to %s: %v", queue, err)
	}
}

// TestPollCannotStart: a program that never polls is not started again.
func TestPollCannotStart(t *testing.T) {
	t.Parallel()
	tests := []struct {
		args []string
		want []string
	}{
		{[]string{"testdata/exits", "--template", own, "--no-samples"},
			[]string{"testdata/exits cannot start", "exit status 3", "no configuration", "handler.Run"}},
		{[]string{"testdata/foreign", "--function", "Foreign", "--no-samples"}, []string{"cannot start", "AWS_LAMBDA_RUNTIME_API", "handler.Run"}},
		{[]string{"--template", own, "--env", "SQSBATCH_WAIT=21s", "--processes", "3"},
			[]string{"cannot start", "exit status 1", "must be whole seconds from 1s to 20s", "SQSBATCH_WAIT"}},
	}
	for _, tt := range tests {
		_, _, err := output(t, "", append(tt.args, "--mode", "poll", "--timeout", "1m")...)
		golden.Says(t, fmt.Sprint(tt.args), fmt.Sprint(err), tt.want...)
	}
}

// TestPollStubborn: a process is killed after the drain limit and a margin, which is an
// error. It has a container's environment.
func TestPollStubborn(t *testing.T) {
	t.Setenv("AWS_PROFILE", "mine")
	t.Setenv("SQSBATCH_WAIT", "1s")
	text, err := interrupted("", "that is all", 1,
		"testdata/stubborn", "--mode", "poll", "--template", "testdata/stubborn.yaml", "--no-samples", "--timeout", "2m", "--env", "ADDED=1")
	if err == nil || !strings.Contains(err.Error(), "process 1 did not end within 6.5s of SIGTERM and was killed") {
		t.Errorf("error %v", err)
	}
	env := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^p1   │ env (\w+)=(.*)$`).FindAllStringSubmatch(text, -1) {
		env[m[1]] = m[2]
	}
	endpoint := env["AWS_ENDPOINT_URL_SQS"]
	queue := endpoint + "/000000000000/work"
	for name, want := range map[string]string{
		"SQSBATCH_QUEUE_URL": queue, "MINE": queue, "SQSBATCH_DRAIN_LIMIT": "500ms", "SQSBATCH_LOG_SUCCEEDED": "true", "ADDED": "1",
		"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_EC2_METADATA_DISABLED": "true",
		"SQSBATCH_WAIT": "", "AWS_PROFILE": "", "AWS_LAMBDA_EXEC_WRAPPER": "", "AWS_LAMBDA_RUNTIME_API": "", // none of them
	} {
		if got, is := env[name]; got != want || is != (want != "") {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if endpoint == "" {
		t.Errorf("no endpoint in:\n%s", text)
	}
}

// Retries are spaced over seconds, unless the template or the user spaces them.
func TestRetriesAreSpacedOverSeconds(t *testing.T) {
	t.Parallel()
	stubborn := docpage.Read(t, "testdata/stubborn.yaml")
	for name, c := range map[string]struct {
		variable string // in the template
		args     []string
		want     string // SQSBATCH_OUTAGE
		said     bool
	}{
		"by default":                {want: "10s", said: true},
		"an outage in the template": {variable: "SQSBATCH_OUTAGE: 1h", want: "1h"},
		"a backoff in the template": {variable: "SQSBATCH_BACKOFF_CAP: 1m"},
		"an outage of --env":        {args: []string{"--env", "SQSBATCH_OUTAGE=2s"}, want: "2s"},
		"a backoff of --env":        {args: []string{"--env", "SQSBATCH_BACKOFF=exponential"}},
	} {
		for _, mode := range []string{"lambda", "poll"} {
			t.Run(mode+", "+name, func(t *testing.T) {
				t.Parallel()
				template := strings.Replace(stubborn, "{MINE:", "{"+cmp.Or(c.variable, "ANY: thing")+", MINE:", 1)
				args := append([]string{"testdata/stubborn", "--mode", mode, "--template", golden.File(t, "template.yaml", template), "--timeout", "1m", "-"}, c.args...)
				text, err := interrupted("x\n", "that is all", 2, args...)
				golden.OK(t, err)
				got := regexp.MustCompile(`(?m)│ env SQSBATCH_OUTAGE=(.*)$`).FindStringSubmatch(text)
				if is := append(got, "", "")[1]; is != c.want {
					t.Errorf("SQSBATCH_OUTAGE is %q, want %q", is, c.want)
				}
				const line = "\nretries      spaced over 10s here (SQSBATCH_OUTAGE), 15m when deployed\n"
				if said := strings.Contains(text, line); said != c.said {
					t.Errorf("said: %v, want %v, in\n%s", said, c.said, text)
				}
			})
		}
	}
}

// TestPollSecondInterrupt: a second interrupt ends the run at once.
func TestPollSecondInterrupt(t *testing.T) {
	t.Parallel()
	text, err := interrupted("", "that is all", 2, "testdata/stubborn", "--mode", "poll", "--template", "testdata/stubborn.yaml", "--no-samples", "--timeout", "1m",
		"--env", "SQSBATCH_DRAIN_LIMIT=1h")
	if err != nil || !strings.Contains(text, "stopped: signal: killed") {
		t.Errorf("error %v; it printed\n%s", err, text)
	}
}
