package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
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
	golden.OK(t, err)
	cmd := exec.Command(path, args...)
	cmd.Dir = filepath.Join("..", "..")
	cmd.Env = append(os.Environ(), asCommand+"=1", "TMPDIR="+dir, "TMP="+dir, "TEMP="+dir)
	return cmd
}

// run runs the command in this process.
func run(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errOut bytes.Buffer
	status = cli.Run(t.Context(), root(cli.IO{Args: args, Stdin: strings.NewReader(""), Stdout: show.To(&out), Stderr: show.To(&errOut)}))
	return status, out.String(), errOut.String()
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
		{"completion bash", 0, "__complete", ""},
		{"completion zsh", 0, "__complete", ""},
		{"completion fish", 0, "__complete", ""},
		{"completion powershell", 0, "__complete", ""},
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
			status, out, errOut := run(t, strings.Fields(tt.args)...)
			if status != tt.status || !strings.Contains(out, tt.out) || !strings.Contains(errOut, tt.errOut) || (errOut != "") != (tt.status != 0) {
				t.Errorf("status %d\n%s\n%s", status, out, errOut)
			}
		})
	}
}

// complete asks, as the scripts of the shells do, what may follow args. The last one is
// what is already written of the word. Values of flags come whole: the scripts choose
// those that begin like the word.
func complete(t *testing.T, args ...string) (values []string, directive string) {
	t.Helper()
	status, out, _ := run(t, append([]string{cobra.ShellCompNoDescRequestCmd}, args...)...)
	if status != 0 {
		t.Fatalf("%q: status %d", args, status)
	}
	lines := strings.Fields(out)
	return lines[:len(lines)-1], lines[len(lines)-1]
}

func TestCompletion_KnowsCommandsFlagsAndValues(t *testing.T) {
	const files, none, directories = ":0", ":4", ":16"
	for _, tt := range []struct {
		args      []string
		values    []string
		directive string
	}{
		{[]string{""}, []string{"simulate", "local", "sqs", "play", "event", "dlq", "lint", "reply", "version", "completion", "help"}, none},
		{[]string{"l"}, []string{"local", "lint"}, none},
		{[]string{"help", "s"}, []string{"sqs", "simulate"}, none},
		{[]string{"completion", ""}, []string{"bash", "zsh", "fish", "powershell"}, none},
		{[]string{"local", "--mode", ""}, []string{"lambda", "poll"}, none},
		{[]string{"local", "--mode="}, []string{"lambda", "poll"}, none},
		{[]string{"local", "--output", ""}, []string{"text", "json"}, none},
		{[]string{"sqs", "--output", ""}, []string{"text", "json"}, none},
		{[]string{"local", "--event", ""}, nil, files},
		{[]string{"local", "--template", ""}, nil, files},
		{[]string{"local", "--function", ""}, nil, none},
		{[]string{"local", "--timeout", ""}, nil, none},
		{[]string{"local", ""}, nil, directories},
		{[]string{"sqs", "--ready-file", ""}, nil, files},
		{[]string{"lint", "--output", ""}, []string{"text", "json", "sarif", "github", "gitlab", "baseline"}, none},
		{[]string{"lint", "--severity", ""}, []string{"error", "warning", "note"}, none},
		{[]string{"lint", ""}, nil, files},
		{[]string{"simulate", ""}, nil, files},
		{[]string{"simulate", "--load", ""}, nil, files},
		{[]string{"sqs", ""}, nil, none},
		{[]string{"dlq", ""}, []string{"stats", "show", "export", "import", "try", "replay", "move", "delete"}, none},
		{[]string{"dlq", "replay", ""}, nil, none},
		{[]string{"dlq", "replay", "--by", ""}, []string{"auto", "task", "send"}, none},
		{[]string{"dlq", "replay", "--journal", ""}, nil, files},
		{[]string{"dlq", "import", "orders", ""}, nil, files},
		{[]string{"local", "--pro"}, []string{"--processes"}, none},
	} {
		values, directive := complete(t, tt.args...)
		slices.Sort(values)
		slices.Sort(tt.values)
		if !slices.Equal(values, tt.values) || directive != tt.directive {
			t.Errorf("%q: %q %s, want %q %s", tt.args, values, directive, tt.values, tt.directive)
		}
	}
}
