package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sqsbatch/sqsbatch/internal/words"
)

// A UsageError is the error of a wrong command line.
type UsageError struct {
	// Problem names the flag, its value and the expected value.
	Problem string
	// Hint names the command that explains the flags.
	Hint string
}

// Error returns the problem and the hint.
func (e *UsageError) Error() string { return e.Problem + "; " + e.Hint }

// Usagef returns a [*UsageError] of a command, as in "local" or "dlq list".
func Usagef(command, format string, args ...any) error {
	program := strings.TrimSpace("sqsbatch " + command)
	return &UsageError{Problem: fmt.Sprintf(format, args...), Hint: "`" + program + " -h` explains the flags"}
}

// A StatusError ends the program with an exit status.
type StatusError struct {
	Status int
	Err    error
}

func (e *StatusError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *StatusError) Unwrap() error { return e.Err }

// unknownCommand returns the error of an unknown command, with the most similar one.
func unknownCommand(parent *cobra.Command, written string) error {
	var names []string
	for _, c := range parent.Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" {
			names = append(names, c.Name())
		}
	}
	meant := ""
	if nearest := words.Nearest(written, names); nearest != "" {
		meant = fmt.Sprintf(" (is %s meant?)", nearest)
	}
	return &UsageError{
		Problem: fmt.Sprintf("unknown command %q%s", written, meant),
		Hint:    "`" + strings.TrimSpace("sqsbatch help "+name(parent)) + "` lists them",
	}
}

// flagError turns an error of pflag into a [*UsageError].
func flagError(cmd *cobra.Command, err error) error {
	if cmd.HasSubCommands() && cmd.Flags().NArg() > 0 {
		return unknownCommand(cmd, cmd.Flags().Arg(0)) // the reason for unknown flags
	}
	problem := err.Error()
	switch err := err.(type) { // pflag does not wrap them
	case *pflag.NotExistError:
		problem = unknownFlag(cmd.Flags(), err)
	case *pflag.InvalidValueError:
		problem = fmt.Sprintf("--%s is %q%s", err.GetFlag().Name, err.GetValue(), must(err))
	case *pflag.ValueRequiredError:
		problem = fmt.Sprintf("--%s has no value; write --%[1]s %s", err.GetFlag().Name, placeholder(err.GetFlag()))
	}
	return Usagef(name(cmd), "%s", problem)
}

// unknownFlag returns the text of an unknown flag's error, with the most similar flag.
func unknownFlag(known *pflag.FlagSet, err *pflag.NotExistError) string {
	written, dashes := err.GetSpecifiedName(), "--"
	if short := err.GetSpecifiedShortnames(); short != "" {
		written, dashes = short, "-"
	}
	written, _, _ = strings.Cut(written, "=")
	var names []string
	known.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	text := "unknown flag " + dashes + written
	if nearest := words.Nearest(written, names); nearest != "" {
		text += ": is --" + nearest + " meant?"
	}
	return text
}

// must returns the end of an error: the expected value of a flag.
func must(err *pflag.InvalidValueError) string {
	value := err.GetValue()
	switch err.GetFlag().Value.Type() {
	case "duration":
		if _, notNumber := strconv.ParseFloat(value, 64); notNumber == nil {
			return fmt.Sprintf(": %s what? For seconds write %[1]ss", value)
		}
		return ": must be a duration, like 30s or 2m"
	case "bool":
		return ": must be true or false"
	case "int", "int64", "uint", "uint64":
		return ": must be a whole number"
	default:
		return "; " + err.Unwrap().Error()
	}
}
