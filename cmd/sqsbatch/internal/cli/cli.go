// Package cli is shared by the commands of sqsbatch: the root of the tree, the form of
// help, kinds of flags, and usage errors.
//
//	func Command(tio cli.IO) *cobra.Command {
//		o := options{output: "text"}
//		cmd := &cobra.Command{Use: "dlq QUEUE", Short: "…", Args: cobra.ExactArgs(1), RunE: …}
//		cli.Section(cmd, "What is shown", func(f *pflag.FlagSet) {
//			f.Var(cli.Choice(&o.output, "text", "json"), "output", "the form of the output")
//		})
//		return cmd
//	}
//
// [Root] adds to every command the help, the completions, and usage errors that name the
// flag, its value and the expected value.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
)

// IO has a command's arguments, standard streams and interrupts.
type IO struct {
	// Args is the command line after the program's name.
	Args           []string
	Stdin          io.Reader
	Stdout, Stderr *show.Out
	// Interrupts receives the user's interrupts. The command decides what a second one means.
	// Nil: no interrupt ever comes.
	Interrupts <-chan os.Signal
}

// EachInterrupt calls f with 1, 2, … for each interrupt until ctx ends.
func (tio IO) EachInterrupt(ctx context.Context, f func(n int)) {
	for n := 1; ; n++ {
		select {
		case <-tio.Interrupts:
			f(n)
		case <-ctx.Done():
			return
		}
	}
}

// The help lists commands in the order in which they were added.
func init() { cobra.EnableCommandSorting = false }

// Root returns the command sqsbatch with its commands.
func Root(tio IO, commands ...*cobra.Command) *cobra.Command {
	root := &cobra.Command{
		Use:           "sqsbatch",
		Short:         "the tool of the sqsbatch toolkit",
		Long:          "sqsbatch is the tool of the sqsbatch toolkit for functions that consume SQS.",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(tio.Stdin)
	root.SetOut(tio.Stdout)
	root.SetErr(tio.Stderr)
	root.SetArgs(append([]string{}, tio.Args...)) // nil would mean os.Args
	root.AddCommand(commands...)
	root.AddCommand(manCommand())
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Short = "explain a command and its flags"
			c.Long = "Explains a command and its flags, as in sqsbatch help local."
			c.Args = helpTopic
		case "completion":
			c.Short = "print the completion script of a shell"
			c.Long = "Prints a script by which a shell completes commands, flags and their values."
		}
	}
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		_, _ = io.WriteString(cmd.OutOrStdout(), Help(cmd))
	})
	root.SetFlagErrorFunc(flagError)
	prepare(root)
	return root
}

// Run runs root and returns the exit status: 2 for a [UsageError], Status for a
// [StatusError], and 1 for any other error.
func Run(ctx context.Context, root *cobra.Command) int {
	defer func() { // incomplete marks and characters
		for _, w := range []io.Writer{root.OutOrStdout(), root.ErrOrStderr()} {
			if out, ok := w.(*show.Out); ok {
				_ = out.Flush()
			}
		}
	}()
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintf(root.ErrOrStderr(), "%s: %v\n", cmd.CommandPath(), err)
	if _, ok := errors.AsType[*UsageError](err); ok {
		return 2
	}
	if status, ok := errors.AsType[*StatusError](err); ok {
		return status.Status
	}
	return 1
}

// prepare sets up cmd and its subcommands: errors about arguments are usage errors, a group of
// commands shows its help, and flags have completions.
func prepare(cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		prepare(c)
	}
	cmd.Flags().SortFlags = false
	completeFlags(cmd)
	if cmd.HasSubCommands() && !cmd.Runnable() {
		cmd.Args = subcommand
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	args := cmd.Args
	cmd.Args = func(cmd *cobra.Command, given []string) error {
		if args != nil {
			err := args(cmd, given)
			if _, ok := errors.AsType[*UsageError](err); ok {
				return err
			}
			if err != nil {
				return Usagef(name(cmd), "the number of arguments is %d; write %s", len(given), cmd.UseLine())
			}
		}
		err := cmd.ValidateRequiredFlags()
		if err == nil {
			err = cmd.ValidateFlagGroups()
		}
		if err != nil {
			return Usagef(name(cmd), "%v", err)
		}
		return nil
	}
}

// subcommand returns the error of a group of commands that was called with an unknown one.
func subcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return unknownCommand(cmd, args[0])
}

// helpTopic returns an error if there is no such command.
func helpTopic(cmd *cobra.Command, args []string) error {
	found, rest, err := cmd.Root().Find(args)
	if err == nil && len(rest) > 0 {
		err = unknownCommand(found, rest[0])
	}
	return err
}

// name returns the command's path without the root, as in "dlq list".
func name(cmd *cobra.Command) string {
	return strings.TrimPrefix(strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()), " ")
}
