package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func serve(t *testing.T) *sqs.Server {
	t.Helper()
	server, err := sqs.Serve("127.0.0.1:0", sqs.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}

func command(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(ctx, args, &out, &errs)
	return code, out.String(), errs.String()
}

// Over a socket, where time is real: what does not depend on it. All of the
// list is run in virtual time, by the tests of package checks.
func TestServedEmulatorPasses(t *testing.T) {
	code, stdout, stderr := command(t.Context(), "-endpoint", serve(t).URL(), "-run", "^(names|digests|queues|protocol|tags)/")
	if code != 0 || strings.Contains(stdout, "FAIL") || !strings.Contains(stdout, "ok    queues/url") {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
}

// A service in another region than the one asked for fails one check, and the command says so.
func TestFailure(t *testing.T) {
	code, stdout, stderr := command(t.Context(), "-endpoint", serve(t).URL(), "-region", "eu-central-1", "-run", "^attributes/(arn|set)$")
	if code != 1 {
		t.Errorf("exit code %d, want 1\n%s", code, stderr)
	}
	for _, part := range []string{"ok    attributes/set", "FAIL  attributes/arn", `want "eu-central-1", got "us-east-1"`, "API_GetQueueAttributes.html"} {
		if !strings.Contains(stdout, part) {
			t.Errorf("no %q in\n%s", part, stdout)
		}
	}
}

func TestStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	code, _, stderr := command(ctx, "-endpoint", serve(t).URL())
	if code != 2 || !strings.Contains(stderr, "canceled") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}

func TestList(t *testing.T) {
	code, stdout, _ := command(t.Context(), "-list")
	if code != 0 || !strings.Contains(stdout, "deduplication/window (slow)") || !strings.Contains(stdout, "long-poll/client-gone (undocumented)") {
		t.Errorf("exit code %d\n%s", code, stdout)
	}
}

func TestBadInput(t *testing.T) {
	for _, tc := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"-help"}, 0, "-endpoint"},
		{[]string{"-run", "("}, 2, "missing closing"},
		{[]string{"-run", "^nothing$"}, 2, "no check matches"},
		{[]string{"-parallel", "0"}, 2, "-parallel is 0"},
		{[]string{"-timeout", "-1s"}, 2, "-timeout is -1s"},
		{[]string{"http://127.0.0.1:9324"}, 2, "unexpected argument"},
		{[]string{"-endpoint", "http://127.0.0.1:1"}, 2, "does not answer"},
	} {
		code, _, stderr := command(t.Context(), tc.args...)
		if code != tc.code || !strings.Contains(stderr, tc.says) {
			t.Errorf("%v: exit code %d, want %d; %s", tc.args, code, tc.code, stderr)
		}
	}
}
