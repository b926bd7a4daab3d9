package cli

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sqsbatch/sqsbatch/internal/webguard"
)

// heading is the annotation of a flag with the heading that it stands under.
const heading = "heading"

// Section adds the flags that define defines, under a heading of the help.
func Section(cmd *cobra.Command, title string, define func(*pflag.FlagSet)) {
	flags := pflag.NewFlagSet(title, pflag.ContinueOnError)
	flags.SortFlags = false
	define(flags)
	flags.VisitAll(func(f *pflag.Flag) { f.Annotations = map[string][]string{heading: {title}} })
	cmd.Flags().SortFlags = false
	cmd.Flags().AddFlagSet(flags)
}

// Text is a flag whose value the help calls placeholder. FILE and PATH are
// completed with the names of files, other values with nothing.
func Text(p *string, placeholder string) pflag.Value { return &text{p, placeholder} }

type text struct {
	p           *string
	placeholder string
}

func (t *text) String() string     { return *t.p }
func (t *text) Set(s string) error { *t.p = s; return nil }
func (t *text) Type() string       { return t.placeholder }

// Choice is a flag that takes one of values.
func Choice(p *string, values ...string) pflag.Value { return &choice{text{p, ""}, values} }

type choice struct {
	text
	values []string
}

func (c *choice) Set(s string) error {
	if slices.Contains(c.values, s) {
		*c.p = s
		return nil
	}
	last := len(c.values) - 1
	return errors.New("it must be " + strings.Join(c.values[:last], ", ") + " or " + c.values[last])
}

func (c *choice) Type() string { return strings.Join(c.values, "|") }

// placeholder is what the help calls the value of a flag, "" if it takes none.
func placeholder(f *pflag.Flag) string {
	switch kind := f.Value.Type(); kind {
	case "bool":
		return ""
	case "int":
		return "N"
	case "duration":
		return "DURATION"
	default:
		return kind
	}
}

// completeFlags tells the shell how the values of flags are completed: those of a
// Choice with its values, files with their names, others with nothing.
func completeFlags(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		complete := cobra.NoFileCompletions
		if c, ok := f.Value.(*choice); ok {
			complete = cobra.FixedCompletions(c.values, cobra.ShellCompDirectiveNoFileComp)
		} else if kind := f.Value.Type(); kind == "FILE" || kind == "PATH" || kind == "bool" {
			return // the names of files are what shells complete by themselves
		}
		_ = cmd.RegisterFlagCompletionFunc(f.Name, complete) // it fails for a flag that has one
	})
}

// Texts is a flag that collects its values and may be repeated.
func Texts(p *[]string, placeholder string) pflag.Value { return &texts{p, placeholder, nil} }

// Hosts is a flag that collects host names and may be repeated.
func Hosts(p *[]string) pflag.Value { return &texts{p, "NAME", webguard.CheckName} }

type texts struct {
	p           *[]string
	placeholder string
	check       func(string) error // nil for none
}

func (t *texts) String() string { return "" }
func (t *texts) Type() string   { return t.placeholder }
func (t *texts) Set(s string) error {
	if t.check != nil {
		if err := t.check(s); err != nil {
			return err
		}
	}
	*t.p = append(*t.p, s)
	return nil
}
