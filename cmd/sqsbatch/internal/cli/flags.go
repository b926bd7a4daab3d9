package cli

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sqsbatch/sqsbatch/internal/webguard"
)

// heading is the annotation with a flag's heading.
const heading = "heading"

// Section adds flags under a heading of the help.
func Section(cmd *cobra.Command, title string, define func(*pflag.FlagSet)) {
	flags := pflag.NewFlagSet(title, pflag.ContinueOnError)
	flags.SortFlags = false
	define(flags)
	flags.VisitAll(func(f *pflag.Flag) { f.Annotations = map[string][]string{heading: {title}} })
	cmd.Flags().SortFlags = false
	cmd.Flags().AddFlagSet(flags)
}

// value implements pflag.Value.
type value struct {
	placeholder string
	text        func() string
	set         func(string) error
	choices     []string // nil: any
}

func (v *value) String() string     { return v.text() }
func (v *value) Set(s string) error { return v.set(s) }
func (v *value) Type() string       { return v.placeholder }

// Text returns a flag's value, which is placeholder in the help. Shells complete FILE and
// PATH with the names of files, and complete no others.
func Text(p *string, placeholder string) pflag.Value {
	return &value{placeholder, func() string { return *p }, func(s string) error { *p = s; return nil }, nil}
}

// Choice returns a flag's value that must be one of choices.
func Choice(p *string, choices ...string) pflag.Value {
	set := func(s string) error {
		if slices.Contains(choices, s) {
			*p = s
			return nil
		}
		last := len(choices) - 1
		if last == 0 {
			return errors.New("it must be " + choices[0])
		}
		return errors.New("it must be " + strings.Join(choices[:last], ", ") + " or " + choices[last])
	}
	return &value{strings.Join(choices, "|"), func() string { return *p }, set, choices}
}

// Texts returns a flag's value that collects the values of a repeated flag.
func Texts(p *[]string, placeholder string) pflag.Value {
	set := func(s string) error { *p = append(*p, s); return nil }
	return &value{placeholder, func() string { return "" }, set, nil}
}

// Hosts returns a flag's value that collects the host names of a repeated flag.
func Hosts(p *[]string) pflag.Value {
	set := func(s string) error {
		if err := webguard.CheckName(s); err != nil {
			return err
		}
		*p = append(*p, s)
		return nil
	}
	return &value{"NAME", func() string { return "" }, set, nil}
}

// placeholder returns the name of a flag's value in the help, "" for a flag without a value.
func placeholder(f *pflag.Flag) string {
	switch kind := f.Value.Type(); kind {
	case "bool":
		return ""
	case "int", "uint64", "float64":
		return "N"
	case "duration":
		return "DURATION"
	default:
		return kind
	}
}

// completeFlags registers the completions of flags: a Choice with its choices, files with their
// names, others with nothing.
func completeFlags(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		complete := cobra.NoFileCompletions
		if v, ok := f.Value.(*value); ok && v.choices != nil {
			complete = cobra.FixedCompletions(v.choices, cobra.ShellCompDirectiveNoFileComp)
		} else if kind := f.Value.Type(); kind == "FILE" || kind == "PATH" || kind == "bool" {
			return // shells complete the names of files themselves
		}
		_ = cmd.RegisterFlagCompletionFunc(f.Name, complete) // fails for a flag with a completion
	})
}

// Assignments is a flag's value that collects the KEY=VALUE of a repeated flag.
type Assignments map[string]string

func (a Assignments) String() string { return "" }

// Type implements pflag.Value.
func (a Assignments) Type() string { return "KEY=VALUE" }

// Argument adds an argument of the command line that follows --parameter-overrides A=1, as SAM's
// commands take them. It returns false for any other argument.
func (a Assignments) Argument(command, arg string) (taken bool, err error) {
	if len(a) == 0 || !strings.Contains(arg, "=") {
		return false, nil
	}
	if err := a.Set(arg); err != nil {
		return true, Usagef(command, "--parameter-overrides %s: %v", arg, err)
	}
	return true, nil
}

// Set implements pflag.Value. One argument may have several, separated by blanks.
func (a Assignments) Set(s string) error {
	key, value, ok := strings.Cut(s, "=")
	if !ok || key == "" || strings.ContainsAny(key, " \t") {
		return errors.New("it must be written as KEY=VALUE")
	}
	plain := func(field string) bool { return strings.Index(field, "=") < 1 }
	if fields := strings.Fields(value); len(fields) > 1 && !slices.ContainsFunc(fields[1:], plain) {
		a[key] = fields[0]
		for _, f := range fields[1:] {
			if err := a.Set(f); err != nil {
				return err
			}
		}
		return nil
	}
	a[key] = value
	return nil
}
