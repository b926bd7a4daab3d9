package local_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/local"
)

// TestPollStubborn: a process is given its drain limit and a little more, and is
// then killed, which is an error. It has a container's environment.
func TestPollStubborn(t *testing.T) {
	t.Setenv("AWS_PROFILE", "mine")
	t.Setenv("SQSBATCH_WAIT", "1s")
	interrupts := make(chan os.Signal, 1)
	out := &cancelOn{what: "that is all", f: func() { interrupts <- os.Interrupt }}
	err := local.Run(context.Background(), []string{
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

// TestPollSecondInterrupt: nothing is waited for.
func TestPollSecondInterrupt(t *testing.T) {
	t.Parallel()
	interrupts := make(chan os.Signal, 2)
	out := &cancelOn{what: "that is all", f: func() {
		interrupts <- os.Interrupt
		interrupts <- os.Interrupt
	}}
	var side bytes.Buffer
	err := local.Run(context.Background(), []string{
		"testdata/stubborn", "--mode", "poll", "--template", "testdata/stubborn.yaml", "--no-samples", "--timeout", "1m",
		"--env", "SQSBATCH_DRAIN_LIMIT=1h",
	}, cli.IO{Stdin: strings.NewReader(""), Stdout: out, Stderr: &side, Interrupts: interrupts})
	if err != nil || !strings.Contains(out.text.String(), "stopped: signal: killed") {
		t.Errorf("error %v; it printed\n%s%s", err, out.text.String(), side.String())
	}
}
