package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
)

const asCommand = "SQSBATCH_TEST_COMMAND"

// TestMain makes this binary the command when a test says so: no other has to be linked.
func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	os.Exit(m.Run())
}

// command runs the command in the repository's root, with temporary files in dir.
func command(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = filepath.Join("..", "..")
	cmd.Env = append(os.Environ(), asCommand+"=1", "TMPDIR="+dir, "TMP="+dir, "TEMP="+dir)
	return cmd
}

// TestVersion: the version, or the commit when there is none, or why there is neither.
func TestVersion(t *testing.T) {
	const revision = "0123456789abcdef0123456789abcdef01234567"
	at := func(version string, settings ...string) *debug.BuildInfo {
		info := &debug.BuildInfo{Main: debug.Module{Version: version}}
		for i := 0; i < len(settings); i += 2 {
			info.Settings = append(info.Settings, debug.BuildSetting{Key: settings[i], Value: settings[i+1]})
		}
		return info
	}
	for _, tt := range []struct {
		info *debug.BuildInfo
		want string
	}{
		{at("v0.1.0"), "v0.1.0"},
		{at("v0.1.0", "vcs.revision", revision, "vcs.modified", "false"), "v0.1.0"},
		{at("v0.1.0+dirty", "vcs.revision", revision, "vcs.modified", "true"), "v0.1.0+dirty"},
		{at("(devel)", "vcs.revision", revision, "vcs.modified", "false"), "commit " + revision},
		{at("", "vcs.revision", revision, "vcs.modified", "true"), "commit " + revision + "+dirty"},
		{at("v0.0.0-20260801101112-0123456789ab+dirty", "vcs.revision", revision, "vcs.modified", "true"), "commit " + revision + "+dirty"},
		{at("v0.0.0-20260801101112-0123456789ab"), "v0.0.0-20260801101112-0123456789ab"},
		{at("(devel)"), "(devel), of an unknown commit: `go install -buildvcs=true ./cmd/sqsbatch` in a clone notes it"},
		{nil, "(devel), of an unknown commit: `go install -buildvcs=true ./cmd/sqsbatch` in a clone notes it"},
	} {
		if got := version(tt.info); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.info, got, tt.want)
		}
	}
}

// A terminal has 80 columns.
func TestHelp_FitsATerminal(t *testing.T) {
	for _, cmd := range commands(root(cli.IO{})) {
		for line := range strings.Lines(cli.Help(cmd)) {
			if n := len(strings.TrimSuffix(line, "\n")); n > 80 {
				t.Errorf("%s: %d columns: %s", cmd.CommandPath(), n, line)
			}
		}
	}
}

// commands are those that the help names, with the root.
func commands(root *cobra.Command) []*cobra.Command {
	list := []*cobra.Command{root}
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			list = append(list, commands(c)...)
		}
	}
	return list
}

// Package cli has the test of wrong command lines.
func TestCommands(t *testing.T) {
	tests := []struct {
		args        string
		status      int
		out, errOut string
	}{
		{"", 0, "sqsbatch local", ""},
		{"help", 0, "sqsbatch local", ""},
		{"version", 0, "sqsbatch ", ""},
		{"local -h", 0, "--once", ""},
		{"help local", 0, "--once", ""},
		{"help sqs", 0, "--queue NAME", ""},
		{"sqs -h", 0, "--queue NAME", ""},
		{"sqs --bogus", 2, "", "sqsbatch sqs: unknown flag --bogus"},
		{"sqs --template nope.yaml", 1, "", "sqsbatch sqs: --template: there is no file nope.yaml"},
		{"local --once=maybe", 2, "", "--once is \"maybe\": must be true or false"},
		{"--version", 0, "sqsbatch ", ""},
		{"version now", 2, "", "sqsbatch version: "},
		{"completion", 0, "powershell", ""},
		{"completion bsh", 2, "", "unknown command \"bsh\" (is bash meant?); `sqsbatch help completion` lists them"},
		{"completion bash now", 2, "", "sqsbatch completion bash: "},
		{"help lokal", 2, "", "unknown command \"lokal\" (is local meant?); `sqsbatch help`"},
		{"help completion bsh", 2, "", "unknown command \"bsh\" (is bash meant?)"},
		{"--bogus", 2, "", "sqsbatch: unknown flag --bogus"},
		{"local --env X", 2, "", "--env is \"X\"; it must be written as KEY=VALUE"},
		{"local --template nope.yaml", 1, "", "sqsbatch local: there is no template nope.yaml"},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			var out, errOut bytes.Buffer
			status := cli.Run(t.Context(), root(cli.IO{Args: strings.Fields(tt.args), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errOut}))
			if status != tt.status || !strings.Contains(out.String(), tt.out) || !strings.Contains(errOut.String(), tt.errOut) {
				t.Errorf("status %d\n%s\n%s", status, out.String(), errOut.String())
			}
			if (errOut.Len() > 0) != (tt.status != 0) {
				t.Errorf("standard error: %q", errOut.String())
			}
		})
	}
}
