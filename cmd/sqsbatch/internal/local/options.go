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
            (default: the template's CodeUri if it is one, else ./examples/orders)
  -         send standard input, one message a line

What is sent (default: the file that the function's package names on a line
//sqsbatch:samples FILE; if it names none, you are asked for messages):
  --event FILE       an SQS event as in events/one.json, what 'aws sqs receive-message'
                     prints as JSON, or anything else as the body of one message, its last
                     line feed left out; it is said when a file is sent as a body
  --event DIRECTORY  all its files *.json, each one of these
  --event -          standard input as such a file
  --no-samples       nothing; send with any SQS client to the endpoint that is shown

What runs:
  --template FILE    default: template.yaml here, or beside or above the package
  --function NAME    the function, when the template has several with an SQS event
  --queue NAME       the queue, when the function has several SQS events
  --parameter-overrides KEY=VALUE ...
                     values for the template's parameters
  --env KEY=VALUE    an environment variable of the function; may be repeated
  --mode lambda      (default) in invocations, as Lambda and the template's event do
  --mode poll        as in a container on Amazon ECS or Kubernetes: a process that polls
                     the queues of all of the function's SQS events (see below)
  --processes N      of --mode poll: how many processes side by side (default 1)
  --addr HOST:PORT   where the SQS endpoint listens, loopback only (default 127.0.0.1:0,
                     a free port)
  --allow-host NAME  a name besides localhost by which clients may ask the SQS endpoint, as
                     host.docker.internal from a container; may be repeated

How it ends:
  --once             as soon as every message is deleted or dead-lettered
  --timeout DURATION give up after that long, as in 2m (default: never)
  Ctrl-C             finishes what is under way; a second one does not wait

What is shown:
  --output text      (default) lines to read, those of metrics (telemetry/emf) left out;
                     on a terminal with a progress line
  --output json      one JSON object a line and nothing else on standard output; "type" is
                     "record", "invocation", "moved" (by a message move task), "process" (of
                     --mode poll, a start or an end), "metrics" (last but one, the object that
                     --metrics FILE has) or "summary" (last); docs/emulators.md has the fields

  --metrics FILE     writes what the run measured as a JSON object, also when it fails:
                     mode, elapsedMs, handled, outcomes (how many records by outcome), redriven (moved by SQS),
                     durationMs, deadlineUsedPercent, attempts, ageMs (each count, sum, min, p50,
                     p90, p99, max; null when not known), invocations (count, coldStarts, errors,
                     records, durationMs, timeoutUsedPercent), processes (starts, crashes),
                     requests, calls (by operation: calls, messages, failed, errors), warnings,
                     seriousWarnings, emf (lines, and metrics by namespace and name, each with its
                     unit, that the function wrote in CloudWatch's Embedded Metric Format)

The function's environment is the template's, and on top of it
AWS_ENDPOINT_URL_SQS, AWS_LAMBDA_LOG_FORMAT=JSON, AWS_LAMBDA_LOG_LEVEL of at
least INFO and SQSBATCH_LOG_SUCCEEDED=true, so that each record can be shown.
Unless the template or --env sets SQSBATCH_OUTAGE or SQSBATCH_BACKOFF, it also has
SQSBATCH_OUTAGE=10s: a record that always fails is not retried for 15 minutes here.

With --mode poll it is the template's too, and on top of it SQSBATCH_QUEUE_URL,
AWS_ENDPOINT_URL_SQS, a region, credentials for the test, SQSBATCH_LOG_SUCCEEDED=true,
SQSBATCH_OUTAGE=10s as above and no AWS_LAMBDA_*. What the template says of the event (BatchSize, FilterCriteria
and so on), Timeout and MemorySize are Lambda's and not applied; SQSBATCH_CONCURRENCY
and the like are. Messages are sent to the first event's queue, --queue polls one
only. Ctrl-C sends SIGTERM and waits for SQSBATCH_DRAIN_LIMIT (24s) and 6s more, then
kills; a process that ends by itself is started again after a moment. outcome
"cut-off" is that of a record whose process ended before it was done.

Exit status: 0 when all went through (dead letters included), 1 when something
could not run or --once ended before its messages did, 2 for a wrong command line.
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
