package local

import (
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/build"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/console"
)

type options struct {
	program
	args      []string // the command's arguments
	stdin     bool
	event     string
	noSamples bool
	addr      string
	hosts     []string
	mode      string // modeLambda or modePoll
	processes int
	once      bool
	trial     bool // the run of a Trial
	timeout   time.Duration
	output    string
	metrics   string // file, or ""
	watch     bool
	verbose   bool
	page      console.Options
}

// Modes, as in --mode.
const (
	modeLambda = "lambda"
	modePoll   = "poll"
)

// anyPort is an address on loopback.
const anyPort = "127.0.0.1:0"

// maxProcesses limits --processes, since all run on this machine.
const maxProcesses = 100

const about = `Runs a function against an embedded SQS and Lambda, with the settings of its SAM or CloudFormation template, and shows what becomes of each record. With --mode poll the function runs as in a container.

The package is the directory or the import path of the function's main package. Default: the template's CodeUri, else ./examples/orders. The argument - sends standard input, one message a line.

Without a flag that says what to send, the command sends the file that the package names on a line //sqsbatch:samples FILE. If there is no such line, it explains how to name messages.`

const details = `## Findings

Before the run, the command prints errors and warnings that 'sqsbatch lint' finds about the function, its queue and its event, at most four. It prints none about alarms, permissions and encryption, which have no effect here, and with --mode poll none about the event.

## Environment

The function has the environment of the template. The command adds AWS_ENDPOINT_URL_SQS, AWS_LAMBDA_LOG_FORMAT=JSON, AWS_LAMBDA_LOG_LEVEL of at least INFO, and SQSBATCH_LOG_SUCCEEDED=true, so that it can show each record. It also adds SQSBATCH_OUTAGE=10s, so that a record that always fails is not retried for 15 minutes. It does not add that if the template or --env sets SQSBATCH_OUTAGE or SQSBATCH_BACKOFF.

## Polling

With --mode poll the function has SQSBATCH_QUEUE_URL, a region and credentials for the test as well, and no AWS_LAMBDA_*. SQSBATCH_CONCURRENCY and the other settings of the toolkit apply. Timeout, MemorySize and the settings of the event (BatchSize, FilterCriteria and so on) do not, because they are Lambda's. Messages go to the queue of the first event. With --queue the function polls that queue only. A process that ends by itself is started again after a moment. If it ended before a record was done, that record has the outcome "cut-off".

## Ctrl-C

Ctrl-C finishes records in flight. A second Ctrl-C ends the run at once. With --mode poll, Ctrl-C sends SIGTERM to the processes and waits for SQSBATCH_DRAIN_LIMIT (24s) and 6s more. Then it kills them.

## JSON output

With --output json, standard output has one JSON object a line and nothing else. The field "type" is "record", "invocation", "process" (with --mode poll: a start or an end), "moved" (by a message move task), "metrics" (the last line but one) or "summary" (the last line). docs/emulators.md lists their fields.

## Metrics

--metrics writes one JSON object, also if the run fails. Its fields: mode, elapsedMs, handled, redriven (moved by SQS), outcomes (how many records by outcome); durationMs, deadlineUsedPercent, attempts and ageMs (each count, sum, min, p50, p90, p99, max; null if unknown); invocations (count, coldStarts, errors, records, durationMs, timeoutUsedPercent), processes (starts, crashes), requests, calls (by operation: calls, messages, failed, errors), warnings, seriousWarnings; and emf: the lines and metrics that the function wrote for CloudWatch, each with its unit, by namespace and name.

## Exit status

The exit status is 0 when every message was handled (dead letters included), 1 when something could not run or --once ended before its messages did, and 2 for a wrong command line.`

// Command returns `sqsbatch local`, which builds functions with builder.
func Command(tio cli.IO, builder build.Builder) *cobra.Command {
	o := options{addr: anyPort, mode: modeLambda, processes: 1, output: "text"}
	if len(tio.Args) > 0 {
		o.args = tio.Args[1:]
	}
	cmd := &cobra.Command{
		Use:   "local [flags] [package] [-]",
		Short: "run a function against an embedded SQS and Lambda, with the settings of its template, and show what becomes of each record",
		Long:  about,
		Example: `sqsbatch local --event events/one.json .
sqsbatch local --once --timeout 2m --metrics metrics.json .
sqsbatch local --mode poll --processes 2 --env SQSBATCH_CONCURRENCY=50 .`,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, arg := range args {
				if arg == "-" {
					o.stdin = true
				} else if err := o.argument(arg); err != nil {
					return err
				}
			}
			if err := o.check(); err != nil {
				return err
			}
			return runWith(cmd.Context(), o, tio, builder)
		},
	}
	o.flags(cmd)
	cli.Notes(cmd, details)
	return cmd
}

func (o *options) flags(cmd *cobra.Command) {
	cli.Section(cmd, "What is sent", func(f *pflag.FlagSet) {
		f.Var(cli.Text(&o.event, "PATH"), "event", "an SQS event as in events/one.json, or what 'aws sqs receive-message' prints as JSON, also as one message in each line\nAnything else is the body of one message, without its last line feed. A directory stands for all its files *.json, and - for standard input as such a file.")
		f.BoolVar(&o.noSamples, "no-samples", false, "nothing; send with any SQS client")
	})
	cli.Section(cmd, "What runs", func(f *pflag.FlagSet) {
		o.program.flags(cmd, f)
		f.Var(cli.Choice(&o.mode, modeLambda, modePoll), "mode", "how the function runs\nlambda: in invocations, as Lambda does\npoll: as in a container, in a process that polls the queues of all SQS events of the function")
		f.IntVar(&o.processes, "processes", o.processes, "with --mode poll: how many processes")
		f.Var(cli.Text(&o.addr, "HOST:PORT"), "addr", "where the SQS endpoint listens, on loopback only; port 0 is a free one")
		f.Var(cli.Hosts(&o.hosts), "allow-host", "a name by which clients may reach the endpoint, besides localhost, such as host.docker.internal from a container; may be repeated")
	})
	cli.Section(cmd, "While it runs", func(f *pflag.FlagSet) {
		f.BoolVar(&o.watch, "watch", false, "build the function again when a source file changes, and restart it; messages stay in the queues")
	})
	cli.Section(cmd, "How it ends", func(f *pflag.FlagSet) {
		f.BoolVar(&o.once, "once", false, "end when every message is deleted or dead-lettered")
		timeoutFlag(f, &o.timeout)
	})
	cli.Section(cmd, "What is shown", func(f *pflag.FlagSet) {
		f.Var(cli.Choice(&o.output, "text", "json"), "output", "the form of the output\ntext: lines to read, without those of metrics (telemetry/emf); on a terminal with a progress line\njson: one JSON object a line")
		f.BoolVar(&o.verbose, "verbose", false, "a line for each event, also on a terminal: without it a terminal shows at most 20 lines a second, and groups what is like another")
		o.page.Flags(f)
		f.Var(cli.Text(&o.metrics, "FILE"), "metrics", "also write what was measured to this file, as a JSON object")
	})
}

func (o *options) check() error {
	switch {
	case o.metrics == "-":
		return o.usagef("--metrics names a file; --output json has the metrics on standard output, as the line of type metrics")
	case o.processes < 1 || o.processes > maxProcesses:
		return o.usagef("--processes is %d; it must be 1 to %d", o.processes, maxProcesses)
	case o.processes > 1 && o.mode != modePoll:
		return o.usagef("--processes is for --mode poll; Lambda starts as many as the event's MaximumConcurrency allows")
	case o.watch && o.once:
		return o.usagef("--watch goes on until it is interrupted, and --once ends; give one")
	case o.timeout < 0:
		return o.negative(o.timeout)
	case o.stdin && o.event != "":
		return o.usagef("both --event and - (standard input) say what to send; give one")
	case o.noSamples && (o.stdin || o.event != ""):
		return o.usagef("--no-samples says to send nothing, --event or - to send something; give one")
	case o.noSamples && o.once:
		return o.usagef("--once ends when everything sent is done, and --no-samples sends nothing; give one")
	}
	return nil
}

// A program has the flags and arguments about the function and its template. The
// commands that run functions share it.
type program struct {
	cmd        *cobra.Command // the command with these flags
	pkg        string         // "" for the template's CodeUri, else examples/orders
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

// argument sets the package, or one more value of --parameter-overrides, to an argument of the
// command line.
func (p *program) argument(arg string) error {
	if taken, err := p.parameters.Argument(p.path(), arg); taken {
		return err
	}
	if p.pkg != "" {
		return p.usagef("two packages, %s and %s; give one", p.pkg, arg)
	}
	p.pkg = arg
	return nil
}

// path returns the names of the command without that of the root.
func (p *program) path() string {
	_, path, _ := strings.Cut(p.cmd.CommandPath(), " ")
	return path
}

// usagef returns an error about the command line.
func (p *program) usagef(format string, args ...any) error {
	return cli.Usagef(p.path(), format, args...)
}

// command returns the command without flags and arguments, as in "sqsbatch local".
func (p *program) command() string {
	line, _, _ := strings.Cut(p.cmd.UseLine(), " [")
	return line
}

// timeoutFlag adds --timeout to f.
func timeoutFlag(f *pflag.FlagSet, timeout *time.Duration) {
	f.DurationVar(timeout, "timeout", 0, "end with an error after that long, such as 2m (default: never)")
}

// negative returns the error of a negative timeout.
func (p *program) negative(timeout time.Duration) error {
	return p.usagef("--timeout is %s; it must not be negative", timeout)
}
