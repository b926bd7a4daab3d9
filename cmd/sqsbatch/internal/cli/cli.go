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
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/spelling"
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
	text := err.Error()
	if name, unknown := strings.CutPrefix(text, "flag provided but not defined: -"); unknown {
		text = "unknown flag --" + name
		if nearest := spelling.Nearest(name, flags(fs)); nearest != "" {
			text += ": is --" + nearest + " meant?"
		}
		return Usagef(fs.Name(), "%s", text)
	}
	if m := badValue.FindStringSubmatch(text); m != nil {
		return Usagef(fs.Name(), "--%s is %q%s", m[2], m[1], must(fs.Lookup(m[2]), m[1]))
	}
	return Usagef(fs.Name(), "%s", text)
}

// badValue is package flag's error about a value that its type does not take.
var badValue = regexp.MustCompile(`^invalid (?:boolean )?value "(.*)" for (?:flag )?-(\S+): parse error$`)

// must says what the value of a flag must be.
func must(f *flag.Flag, value string) string {
	getter, ok := f.Value.(flag.Getter)
	if !ok {
		return ": it cannot be read"
	}
	switch getter.Get().(type) {
	case time.Duration:
		if _, err := strconv.ParseFloat(value, 64); err == nil {
			return fmt.Sprintf(": %s what? For seconds write %[1]ss", value)
		}
		return ": must be a duration, like 30s or 2m"
	case bool:
		return ": must be true or false"
	case int, int64, uint, uint64:
		return ": must be a whole number"
	default:
		return ": it cannot be read"
	}
}

// flags are the names of a set's flags.
func flags(fs *flag.FlagSet) (names []string) {
	fs.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	return names
}
