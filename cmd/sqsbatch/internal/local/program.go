package local

import (
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
)

// A program is what the command line says about the function and its template. The
// commands that run functions share it.
type program struct {
	cmd        *cobra.Command // of these flags
	pkg        string         // "" for what the template names, else examples/orders
	template   string
	function   string
	queue      string
	parameters cli.Assignments
	env        cli.Assignments
}

// flags adds the flags to f, which belongs to cmd.
func (p *program) flags(cmd *cobra.Command, f *pflag.FlagSet) {
	p.cmd, p.parameters, p.env = cmd, cli.Assignments{}, cli.Assignments{}
	f.Var(cli.Text(&p.template, "FILE"), "template", "the template of the function (default template.yaml here, or in or above the package; if there is none, a package that you name runs in batches of 10 with a timeout of 10 s and 5 attempts)")
	f.Var(cli.Text(&p.function, "NAME"), "function", "the function, if the template has several with SQS events")
	f.Var(cli.Text(&p.queue, "NAME"), "queue", "the queue, if the function has several SQS events")
	f.Var(p.parameters, "parameter-overrides", "values for the template's parameters; several may follow: A=1 B=2")
	f.Var(p.env, "env", "an environment variable of the function; may be repeated")
}

// argument takes an argument of the command line: the package, or one more value for a
// parameter of the template.
func (p *program) argument(arg string) error {
	switch {
	case strings.Contains(arg, "=") && len(p.parameters) > 0:
		if err := p.parameters.Set(arg); err != nil { // --parameter-overrides A=1 B=2
			return p.usagef("%s: %v", arg, err)
		}
	case p.pkg != "":
		return p.usagef("two packages, %s and %s; give one", p.pkg, arg)
	default:
		p.pkg = arg
	}
	return nil
}

// usagef returns an error about the command line.
func (p *program) usagef(format string, args ...any) error {
	_, command, _ := strings.Cut(p.cmd.CommandPath(), " ") // without the name of the root
	return cli.Usagef(command, format, args...)
}

// command is the command line before its flags and its package, as in "sqsbatch local".
func (p *program) command() string {
	line, _, _ := strings.Cut(p.cmd.UseLine(), " [")
	return line
}

// timeoutFlag adds --timeout to f.
func timeoutFlag(f *pflag.FlagSet, timeout *time.Duration) {
	f.DurationVar(timeout, "timeout", 0, "end with an error after that long, such as 2m (default: never)")
}

// negative is the error of a timeout below zero.
func (p *program) negative(timeout time.Duration) error {
	return p.usagef("--timeout is %s; it must not be negative", timeout)
}
