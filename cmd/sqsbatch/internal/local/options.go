package local

import (
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
)

type options struct {
	args       []string // as they were given
	pkg        string   // "" for what the template names, else examples/orders
	stdin      bool
	event      string
	noSamples  bool
	template   string
	function   string
	queue      string
	parameters cli.Assignments
	env        cli.Assignments
	addr       string
	hosts      cli.Hosts
	mode       string // modeLambda or modePoll
	processes  int
	once       bool
	timeout    time.Duration
	output     string
	metrics    string // file, or ""
}

// Modes: how the function is run.
const (
	modeLambda = "lambda"
	modePoll   = "poll"
)

// maxProcesses bounds --processes: this is one machine.
const maxProcesses = 100

// Usage is what `sqsbatch local -h` prints.
const Usage = `Runs a function against an embedded SQS and Lambda, with the settings of its
SAM or CloudFormation template, and shows what becomes of each record.

Usage:
  sqsbatch local [flags] [package] [-]

  package   directory or import path of the function's main package
            (default: the template's CodeUri, else ./examples/orders)
  -         send standard input, one message a line

What is sent (default: the file that the package names on a line
//sqsbatch:samples FILE; without one, you are asked for messages):
  --event FILE       an SQS event as in events/one.json, or what
                     'aws sqs receive-message' prints as JSON. Anything else is
                     the body of one message, without its last line feed
  --event DIRECTORY  all its files *.json, each one of these
  --event -          standard input as such a file
  --no-samples       nothing; send with any SQS client

What runs:
  --template FILE    default: template.yaml here, or in or above the package
  --function NAME    the function, if the template has several with SQS events
  --queue NAME       the queue, if the function has several SQS events
  --parameter-overrides KEY=VALUE ...
                     values for the template's parameters
  --env KEY=VALUE    an environment variable of the function; may be repeated
  --mode lambda      (default) in invocations, as Lambda does
  --mode poll        as in a container: a process polls the queues of all SQS
                     events of the function (see below)
  --processes N      with --mode poll: how many processes (default 1)
  --addr HOST:PORT   where the SQS endpoint listens, on loopback only
                     (default 127.0.0.1:0, a free port)
  --allow-host NAME  a name besides localhost by which clients reach it, such as
                     host.docker.internal from a container; may be repeated

How it ends:
  --once             when every message is deleted or dead-lettered
  --timeout DURATION gives up after that long, such as 2m (default: never)
  Ctrl-C             finishes what is under way; a second one does not wait

What is shown:
  --output text      (default) lines to read, without those of metrics
                     (telemetry/emf); on a terminal with a progress line
  --output json      one JSON object a line and nothing else on standard output.
                     "type" is "record", "invocation", "process" (with --mode
                     poll: a start or an end), "moved" (by a message move task),
                     "metrics" (the last but one) or "summary" (the last);
                     docs/emulators.md has the fields
  --metrics FILE     writes what was measured as a JSON object, also if the run
                     fails: mode, elapsedMs, handled, redriven (moved by SQS),
                     outcomes (how many records by outcome); durationMs,
                     deadlineUsedPercent, attempts, ageMs (each count, sum, min,
                     p50, p90, p99, max; null if unknown); invocations (count,
                     coldStarts, errors, records, durationMs,
                     timeoutUsedPercent), processes (starts, crashes), requests,
                     calls (by operation: calls, messages, failed, errors),
                     warnings, seriousWarnings, and emf: lines and metrics that
                     the function wrote for CloudWatch, by namespace and name,
                     each with its unit

The function has the environment of the template, and AWS_ENDPOINT_URL_SQS,
AWS_LAMBDA_LOG_FORMAT=JSON, AWS_LAMBDA_LOG_LEVEL of at least INFO and
SQSBATCH_LOG_SUCCEEDED=true, so that each record can be shown. It also has
SQSBATCH_OUTAGE=10s, so that a record that always fails is not retried for
15 minutes, unless the template or --env sets SQSBATCH_OUTAGE or
SQSBATCH_BACKOFF.

With --mode poll it also has SQSBATCH_QUEUE_URL, a region and credentials for
the test, and no AWS_LAMBDA_*. Timeout, MemorySize and the event's settings
(BatchSize, FilterCriteria, ...) are Lambda's and are not applied;
SQSBATCH_CONCURRENCY and the others are. Messages go to the first event's
queue; --queue polls one queue only. Ctrl-C sends SIGTERM, waits for
SQSBATCH_DRAIN_LIMIT (24s) and 6s more, then kills. A process that ends by
itself is started again after a moment. A record whose process ended before the
record was done has the outcome "cut-off".

Exit status: 0 when all went through (dead letters included), 1 when something
could not run or --once ended before its messages did, 2 for a wrong command
line.
`

func usagef(format string, args ...any) error { return cli.Usagef("local", format, args...) }

// parse reads the command line; the error is flag.ErrHelp when help is asked for.
func parse(args []string) (options, error) {
	o := options{args: args, parameters: cli.Assignments{}, env: cli.Assignments{}}
	fs := cli.NewFlagSet("local")
	fs.StringVar(&o.event, "event", "", "")
	fs.BoolVar(&o.noSamples, "no-samples", false, "")
	fs.StringVar(&o.template, "template", "", "")
	fs.StringVar(&o.function, "function", "", "")
	fs.StringVar(&o.queue, "queue", "", "")
	fs.Var(o.parameters, "parameter-overrides", "")
	fs.Var(o.env, "env", "")
	fs.StringVar(&o.mode, "mode", modeLambda, "")
	fs.IntVar(&o.processes, "processes", 1, "")
	fs.StringVar(&o.addr, "addr", "127.0.0.1:0", "")
	fs.Var(&o.hosts, "allow-host", "")
	fs.BoolVar(&o.once, "once", false, "")
	fs.DurationVar(&o.timeout, "timeout", 0, "")
	fs.StringVar(&o.output, "output", "text", "")
	fs.StringVar(&o.metrics, "metrics", "", "")
	for {
		if err := cli.Parse(fs, args); err != nil {
			return o, err
		}
		if fs.NArg() == 0 {
			break
		}
		if err := o.positional(fs.Arg(0)); err != nil {
			return o, err
		}
		args = fs.Args()[1:]
	}
	return o, o.check()
}

func (o *options) positional(arg string) error {
	switch {
	case arg == "-":
		o.stdin = true
	case strings.Contains(arg, "=") && len(o.parameters) > 0:
		if err := o.parameters.Set(arg); err != nil { // --parameter-overrides A=1 B=2
			return usagef("%s: %v", arg, err)
		}
	case o.pkg != "":
		return usagef("two packages, %s and %s; give one", o.pkg, arg)
	default:
		o.pkg = arg
	}
	return nil
}

func (o *options) check() error {
	switch {
	case o.output != "text" && o.output != "json":
		return usagef("--output is %q; it must be text or json", o.output)
	case o.metrics == "-":
		return usagef("--metrics names a file; --output json has the metrics on standard output, as the line of type metrics")
	case o.mode != modeLambda && o.mode != modePoll:
		return usagef("--mode is %q; it must be lambda or poll", o.mode)
	case o.processes < 1 || o.processes > maxProcesses:
		return usagef("--processes is %d; it must be 1 to %d", o.processes, maxProcesses)
	case o.processes > 1 && o.mode != modePoll:
		return usagef("--processes is for --mode poll; Lambda starts as many as the event's MaximumConcurrency allows")
	case o.timeout < 0:
		return usagef("--timeout is %s; it must not be negative", o.timeout)
	case o.stdin && o.event != "":
		return usagef("both --event and - (standard input) say what to send; give one")
	case o.noSamples && (o.stdin || o.event != ""):
		return usagef("--no-samples says to send nothing, --event or - to send something; give one")
	case o.noSamples && o.once:
		return usagef("--once ends when everything sent is done, and --no-samples sends nothing; give one")
	}
	return nil
}
