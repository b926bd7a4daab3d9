package local_test

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
)

// TestPollStubborn: a process is given its drain limit and a little more, and is
// then killed, which is an error. It has a container's environment.
func TestPollStubborn(t *testing.T) {
	t.Setenv("AWS_PROFILE", "mine")
	t.Setenv("SQSBATCH_WAIT", "1s")
	out, interrupts := interruptAt("that is all", 1)
	err := runLocal(context.Background(), []string{
		"testdata/stubborn", "--mode", "poll", "--template", "testdata/stubborn.yaml", "--no-samples", "--timeout", "2m", "--env", "ADDED=1",
	}, cli.IO{Stdin: strings.NewReader(""), Stdout: out, Stderr: io.Discard, Interrupts: interrupts})
	if err == nil || !strings.Contains(err.Error(), "process 1 did not end within 6.5s of SIGTERM and was killed") {
		t.Errorf("error %v", err)
	}
	env := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^p1   │ env (\w+)=(.*)$`).FindAllStringSubmatch(out.text.String(), -1) {
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
		t.Errorf("no endpoint in:\n%s", out.text.String())
	}
}

// Retries are spaced over seconds, unless the template or the user spaces them.
func TestRetriesAreSpacedOverSeconds(t *testing.T) {
	t.Parallel()
	stubborn, err := os.ReadFile("testdata/stubborn.yaml")
	if err != nil {
		t.Fatal(err)
	}
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
		"a backoff of --env":        {args: []string{"--env", "SQSBATCH_BACKOFF=constant"}},
	} {
		for _, mode := range []string{"lambda", "poll"} {
			t.Run(mode+", "+name, func(t *testing.T) {
				t.Parallel()
				text := strings.Replace(string(stubborn), "{MINE:", "{"+cmp.Or(c.variable, "ANY: thing")+", MINE:", 1)
				out, interrupts := interruptAt("that is all", 2)
				args := append([]string{"testdata/stubborn", "--mode", mode, "--template", golden.File(t, "template.yaml", text), "--timeout", "1m", "-"}, c.args...)
				if err := runLocal(context.Background(), args, cli.IO{Stdin: strings.NewReader("x\n"), Stdout: out, Stderr: io.Discard, Interrupts: interrupts}); err != nil {
					t.Fatal(err)
				}
				got := regexp.MustCompile(`(?m)│ env SQSBATCH_OUTAGE=(.*)$`).FindStringSubmatch(out.text.String())
				if is := append(got, "", "")[1]; is != c.want {
					t.Errorf("SQSBATCH_OUTAGE is %q, want %q", is, c.want)
				}
				const line = "\nretries      spaced over 10s here (SQSBATCH_OUTAGE), 15m when deployed\n"
				if said := strings.Contains(out.text.String(), line); said != c.said {
					t.Errorf("said: %v, want %v, in\n%s", said, c.said, out.text.String())
				}
			})
		}
	}
}

// TestPollSecondInterrupt: nothing is waited for.
func TestPollSecondInterrupt(t *testing.T) {
	t.Parallel()
	out, interrupts := interruptAt("that is all", 2)
	var side bytes.Buffer
	err := runLocal(context.Background(), []string{
		"testdata/stubborn", "--mode", "poll", "--template", "testdata/stubborn.yaml", "--no-samples", "--timeout", "1m",
		"--env", "SQSBATCH_DRAIN_LIMIT=1h",
	}, cli.IO{Stdin: strings.NewReader(""), Stdout: out, Stderr: &side, Interrupts: interrupts})
	if err != nil || !strings.Contains(out.text.String(), "stopped: signal: killed") {
		t.Errorf("error %v; it printed\n%s%s", err, out.text.String(), side.String())
	}
}
