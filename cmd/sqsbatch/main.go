// Command sqsbatch is the tool that goes with the toolkit.
//
//	sqsbatch local     run a function against an embedded SQS and Lambda
//	sqsbatch sqs       serve the embedded SQS by itself
//	sqsbatch version   say which version or commit this is
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/local"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/serve"
	"github.com/sqsbatch/sqsbatch/internal/spelling"
)

const usage = `sqsbatch is the tool that goes with the sqsbatch toolkit.

Usage:
  sqsbatch local     run a function against an embedded SQS and Lambda, with the
                     settings of its template, and show what becomes of each
                     record; with --mode poll as a container
  sqsbatch sqs       serve the embedded SQS alone, for programs in any language
  sqsbatch version   say which version or commit this is
  sqsbatch help      show this

sqsbatch help local and sqsbatch help sqs explain the flags.
`

func main() {
	interrupts := make(chan os.Signal, 2)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// An output that nobody reads any more is an error of writing. Not
	// signal.Ignore: the functions that are started would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	os.Exit(run(os.Args[1:], cli.IO{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Interrupts: interrupts,
	}))
}

func run(args []string, tio cli.IO) int {
	command := "help"
	if len(args) > 0 {
		command, args = args[0], args[1:]
	}
	switch command {
	case "local":
		return status(command, local.Run(context.Background(), args, tio), tio.Stderr)
	case "sqs":
		return status(command, serve.Run(context.Background(), args, tio), tio.Stderr)
	case "version", "--version", "-version":
		info, _ := debug.ReadBuildInfo() // nil in a program that go did not build
		fmt.Fprintln(tio.Stdout, "sqsbatch "+version(info))
		return 0
	case "help", "--help", "-help", "-h":
		if len(args) == 1 && (args[0] == "local" || args[0] == "sqs") {
			return run([]string{args[0], "-h"}, tio)
		}
		_, _ = io.WriteString(tio.Stdout, usage)
		return 0
	default:
		meant := ""
		if nearest := spelling.Nearest(command, []string{"local", "sqs", "version", "help"}); nearest != "" {
			meant = fmt.Sprintf(" (is %s meant?)", nearest)
		}
		fmt.Fprintf(tio.Stderr, "sqsbatch: unknown command %q%s; `sqsbatch help` lists them\n", command, meant)
		return 2
	}
}

func status(command string, err error, stderr io.Writer) int {
	if err == nil {
		return 0
	}
	fmt.Fprintf(stderr, "sqsbatch %s: %v\n", command, err)
	var wrong *cli.UsageError
	if errors.As(err, &wrong) {
		return 2
	}
	return 1
}

// version is the release, or else the commit that the program was built from, with
// which Go's own pseudo-versions end.
func version(info *debug.BuildInfo) string {
	version, commit := "", ""
	if info != nil {
		version = info.Main.Version
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				commit = s.Value + commit
			case s.Key == "vcs.modified" && s.Value == "true":
				commit += "+dirty"
			}
		}
	}
	pseudo := len(commit) > 12 && strings.Contains(version, "-"+commit[:12])
	switch {
	case version != "" && version != "(devel)" && !pseudo:
		return version
	case commit != "":
		return "commit " + commit
	default:
		return "(devel), of an unknown commit: `go install -buildvcs=true ./cmd/sqsbatch` in a clone notes it"
	}
}
