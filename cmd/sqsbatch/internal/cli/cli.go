// Package cli is what the commands of sqsbatch share: how they meet their
// caller, and how they say that a command line is wrong.
//
//	err := local.Run(ctx, args, cli.IO{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr})
//	var wrong *cli.UsageError
//	if errors.As(err, &wrong) {
//		os.Exit(2)
//	}
package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

// IO is how a command meets its caller.
type IO struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Interrupts asks to end; the command says what a second time means. Nil: never.
	Interrupts <-chan os.Signal
}

// A UsageError is a command line that cannot be meant.
type UsageError struct {
	// Command is the command's name, as in "local".
	Command string
	// Problem names the flag, its value and what it must be.
	Problem string
}

// Error says what is wrong and where the flags are explained.
func (e *UsageError) Error() string {
	return e.Problem + "; `sqsbatch " + e.Command + " -h` explains the flags"
}

// Usagef returns a [*UsageError].
func Usagef(command, format string, args ...any) error {
	return &UsageError{command, fmt.Sprintf(format, args...)}
}

// NewFlagSet returns a flag set that prints nothing: its errors are for [Parse].
func NewFlagSet(command string) *flag.FlagSet {
	fs := flag.NewFlagSet(command, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	return fs
}

// Parse parses flags up to the first argument that is none. The error is
// flag.ErrHelp when help is asked for, else a [*UsageError].
func Parse(fs *flag.FlagSet, args []string) error {
	err := fs.Parse(args)
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return err
	}
	return Usagef(fs.Name(), "%s", strings.Replace(err.Error(), "flag provided but not defined: -", "unknown flag --", 1))
}
