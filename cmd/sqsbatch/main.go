// Command sqsbatch is the tool of the toolkit.
//
//	sqsbatch local        run a function against an embedded SQS and Lambda
//	sqsbatch sqs          serve the embedded SQS by itself
//	sqsbatch play         show a recorded run on a web page
//	sqsbatch event        make an event, or messages, for tests
//	sqsbatch dlq          look into a dead-letter queue, and recover its messages
//	sqsbatch lint         check a template for settings that lose messages or time
//	sqsbatch simulate     simulate hours of a queue and its function
//	sqsbatch reply        delete the reply queues of processes that were killed
//	sqsbatch version      print the version or the commit
//	sqsbatch help         explain a command and its flags
//	sqsbatch completion   print the completion script of a shell
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/build"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/console"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/lint"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/local"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/reply"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/sample"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/serve"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/simulate"
)

func main() {
	interrupts := make(chan os.Signal, 2)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// A write to a closed pipe is then an error. signal.Ignore would do the same,
	// but the functions that this program starts would inherit it.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	tio := cli.IO{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: show.To(os.Stdout), Stderr: show.To(os.Stderr), Interrupts: interrupts,
	}
	os.Exit(cli.Run(context.Background(), root(tio)))
}

// root is the tree of commands.
func root(tio cli.IO) *cobra.Command {
	info, _ := debug.ReadBuildInfo() // nil in a program that go did not build
	printVersion := func(cmd *cobra.Command, _ []string) error {
		_, err := fmt.Fprintln(cmd.OutOrStdout(), "sqsbatch "+version(info))
		return err
	}
	const about = "print the version or the commit"
	root := cli.Root(tio,
		local.Command(tio, build.Go{}),
		serve.Command(tio),
		console.Play(tio),
		sample.Command(tio),
		dlq.Command(tio, build.Go{}),
		lint.Command(tio, version(info)),
		simulate.Command(tio),
		reply.Command(tio),
		&cobra.Command{Use: "version", Short: about, Args: cobra.NoArgs, RunE: printVersion},
	)
	root.Example = "sqsbatch local --event events/one.json .\nsqsbatch sqs --queue orders,dead-letter=dead"
	asked := root.Flags().Bool("version", false, about)
	help := root.RunE
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if *asked {
			return printVersion(cmd, args)
		}
		return help(cmd, args)
	}
	return root
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
