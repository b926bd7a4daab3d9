// Package simulate is the command `sqsbatch simulate`: it runs the stack of a template through
// hours of load in a model, and says what happens. Package model has the model; this package has
// everything around it.
//
// simulate.go has the flags and the course of the command, stack.go makes a scenario of a
// template, setting.go has the settings that --set and --vary change, load.go and work.go read
// what comes, how long it takes and what goes wrong. finding.go says what to change, text.go and
// plot.go print, page.go makes the page of --html, and compare.go has --vary, --find and the
// comparison of templates.
package simulate

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/model"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/samconfig"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/view"
)

const command = "simulate"

// Modes, as in --mode.
const (
	modeLambda = "lambda"
	modePoll   = "poll"
)

type options struct {
	templates  []string // paths; none: template.yaml here, or the defaults
	function   string
	queue      string
	configEnv  string
	parameters cli.Assignments
	env        cli.Assignments
	set        assignments

	rate   string
	bursts []string
	load   string
	size   string
	groups int

	duration string
	fail     string
	outages  []string

	mode  string
	tasks int
	scale string

	length time.Duration
	seed   uint64

	output string
	html   string

	vary    []string
	find    bool
	age     time.Duration
	dead    int
	bounded bool // --dead is given

	given given
}

const about = `Runs a queue and its function, with the settings of their template, through hours of load in a model, and says what happens: backlog, age, messages in flight, throttles, dead letters, alarms and cost. It needs no AWS account, and hours take seconds.

The argument is a SAM or CloudFormation template. Two templates are compared. Default: template.yaml here, else the defaults of 'sqsbatch local'.`

const details = `## Load

--rate takes a rate, as in 500/s, 30000/m or 1000/h. More rates with a time make a line: 100/s,500/s@30m,500/s@1h,100/s@90m rises from 100 to 500 a second within half an hour, stays there, and falls. day:20/s,200/s is a day's curve, from the lowest rate at the beginning to the highest after 12 hours and back.

--load reads a file: the JSON of 'aws cloudwatch get-metric-statistics' or 'get-metric-data' for NumberOfMessagesSent, or lines of CSV with a time and the messages sent since then. Times are RFC 3339, or durations from the beginning.

## What goes wrong

--outage is [KIND:]LENGTH@START, and may be repeated. The kinds:

  errors       attempts fail and are retried (the default); errors=30%: a share
  hangs        handlers ignore the end of their context
  slow=5       records take five times as long
  aborts=30s   handlers return batch.Abort(30s, err)
  permanents   handlers return batch.Permanent, as after a bad deploy
  crashes      attempts end their process, as after a worse one
  kills=5m     a consumer is killed every 5 minutes
  throttle=2   the function's reserved concurrency is 2

--fail has the shares of attempts that fail at any time: 1%, or retry=1%,permanent=0.1%,hang=0.01%,crash=0.001%. poison=0.01% is a share of messages that fail at every attempt, and poison-crash=0.01% one of messages that crash at each.

## Settings

--set and --vary take these names, variables of the toolkit (SQSBATCH_OUTAGE), and parameters of the template: ` + "SETTINGS" + `.

A setting that the template sets by a parameter is better varied by that parameter, because other values may follow from it: FunctionTimeout rather than Timeout.

## Comparing and finding

--vary tries each value of a setting, and prints a table. Several --vary try all combinations, at most 100. --find looks among them for the cheapest that keeps the bounds --age and --dead, and leaves at most 1 % of the messages in the queue. Without --vary, it tries MaximumConcurrency from 2, or with --mode poll Tasks from 1, up to where more are not used.

## Findings

Before it runs, the command prints errors and warnings of 'sqsbatch lint' about the function, its queue and its event. After it, findings say what to change. Each is computed from the run.

## JSON output

With --output json, standard output has one object. Its field "runs" has one entry for each run: title, settings (those of --vary), keeps (with --find: whether it keeps the bounds), findings (text, try, then), seconds (the length), totals, peaks, cost, rings (of alarms), samples with one each "every" seconds, and assumptions. "best" is the index of the run that --find found. Times are in seconds from the beginning, costs in US dollars.

## Exit status

The exit status is 0 when the simulation ran, 1 when something could not be read or run, or no setting keeps the bounds of --find, and 2 for a wrong command line.`

// Command returns `sqsbatch simulate`.
func Command(tio cli.IO) *cobra.Command {
	o := options{
		parameters: cli.Assignments{}, env: cli.Assignments{}, configEnv: samconfig.DefaultEnv,
		size: "2KB", duration: "100ms", mode: modeLambda, tasks: 1, length: time.Hour, seed: 1, output: "text",
	}
	cmd := &cobra.Command{
		Use:   command + " [flags] [template] [template]",
		Short: "simulate hours of a queue and its function, and say what load and outages do to them",
		Long:  about,
		Example: `sqsbatch simulate --rate 500/s --outage 20m@30m --for 3h --html report.html
sqsbatch simulate --burst 1000000 --vary MaximumConcurrency=2,5,10,50
sqsbatch simulate --rate 500/s --duration lognormal:100ms,2s --find --age 5m
sqsbatch simulate --rate 500/s --mode poll --tasks 3 template.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.bounded = cmd.Flags().Changed("dead")
			if err := o.arguments(args); err != nil {
				return err
			}
			debug.SetGCPercent(200) // a run drops most of what it allocates at once
			return o.run(cmd.Context(), tio)
		},
	}
	o.flags(cmd)
	cli.Notes(cmd, strings.Replace(details, "SETTINGS", strings.Join(settingNames(), ", "), 1))
	return cmd
}

func (o *options) flags(cmd *cobra.Command) {
	cli.Section(cmd, "What comes", func(f *pflag.FlagSet) {
		f.Var(cli.Text(&o.rate, "RATE"), "rate", "messages sent, as in 500/s or 30000/m; a line with points, as in 100/s,500/s@30m, or a day's curve, as in day:20/s,200/s")
		f.Var(cli.Texts(&o.bursts, "N[@START]"), "burst", "messages sent at once, as in 1000000@10m; may be repeated")
		f.Var(cli.Text(&o.load, "FILE"), "load", "messages sent, as CloudWatch's NumberOfMessagesSent in JSON, or as CSV")
		f.Var(cli.Text(&o.size, "SIZE"), "size", "size of a message, up to 1MB")
		f.IntVar(&o.groups, "groups", 0, "FIFO: number of message groups (default 100)")
	})
	cli.Section(cmd, "What the function does", func(f *pflag.FlagSet) {
		f.Var(cli.Text(&o.duration, "TIME"), "duration", "time of a record: 100ms, lognormal:100ms,2s by median and 99th percentile, or a file that --metrics of 'sqsbatch local' wrote")
		f.Var(cli.Text(&o.fail, "SHARES"), "fail", "shares of records that fail, as in 1% or retry=1%,permanent=0.1%,poison=0.01%")
		f.Var(cli.Texts(&o.outages, "[KIND:]LENGTH@START"), "outage", "what goes wrong and when, as in 20m@30m, slow=5:10m@1h or throttle=2:1h@30m; may be repeated")
		f.DurationVar(&o.length, "for", o.length, "how long messages are sent and handled")
		f.Uint64Var(&o.seed, "seed", o.seed, "seed of random times and failures; the same seed gives the same report")
	})
	cli.Section(cmd, "What runs", func(f *pflag.FlagSet) {
		f.Var(cli.Text(&o.function, "NAME"), "function", "the function, if the template has several with SQS events")
		f.Var(cli.Text(&o.queue, "NAME"), "queue", "the queue, if the function has several SQS events")
		f.Var(o.parameters, "parameter-overrides", "values for the template's parameters; several may follow: A=1 B=2")
		f.Var(cli.Text(&o.configEnv, "NAME"), "config-env", "the environment of samconfig.toml whose parameters are used")
		f.Var(o.env, "env", "an environment variable of the function; may be repeated")
		f.Var(&o.set, "set", "a setting in place of the template's; may be repeated")
		f.Var(cli.Choice(&o.mode, modeLambda, modePoll), "mode", "how the function runs\nlambda: in invocations, as Lambda does\npoll: in containers that poll the queue")
		f.IntVar(&o.tasks, "tasks", o.tasks, "with --mode poll: number of containers")
		f.Var(cli.Text(&o.scale, "SCALING"), "scale", "with --mode poll: number of containers by backlog, as in keda:100,1,20: one for each 100 messages, from 1 to 20; tracking:100,1,20 for target tracking")
	})
	cli.Section(cmd, "What is compared", func(f *pflag.FlagSet) {
		f.Var(cli.Texts(&o.vary, "NAME=A,B,C"), "vary", "values of a setting to try, as in MaximumConcurrency=2,5,10; may be repeated")
		f.BoolVar(&o.find, "find", false, "find the cheapest setting that keeps --age and --dead")
		f.DurationVar(&o.age, "age", 0, "with --find: longest age of the oldest message")
		f.IntVar(&o.dead, "dead", o.dead, "with --find: most healthy messages in the dead-letter queue (default any number)")
	})
	cli.Section(cmd, "What is shown", func(f *pflag.FlagSet) {
		f.Var(cli.Choice(&o.output, "text", "json"), "output", "the form of the output")
		f.Var(cli.Text(&o.html, "FILE"), "html", "also write a page with plots to this file")
	})
}

func usagef(format string, args ...any) error { return cli.Usagef(command, format, args...) }

// arguments sets the templates, and further values of --parameter-overrides.
func (o *options) arguments(args []string) error {
	for _, arg := range args {
		taken, err := o.parameters.Argument(command, arg)
		if err != nil {
			return err
		}
		if !taken {
			o.templates = append(o.templates, arg)
		}
	}
	switch {
	case len(o.templates) > 2:
		return usagef("there are %d templates; give one, or two to compare", len(o.templates))
	case o.length < time.Second || o.length > 14*24*time.Hour:
		return usagef("--for is %s; it must be from 1s to 336h", o.length)
	case o.tasks < 1 || o.tasks > 5000:
		return usagef("--tasks is %d; it must be from 1 to 5000", o.tasks)
	case o.groups < 0 || o.groups > 1_000_000:
		return usagef("--groups is %d; it must be from 1 to 1000000", o.groups)
	case o.mode != modePoll && (o.tasks != 1 || o.scale != ""):
		return usagef("--tasks and --scale are for --mode poll; on Lambda the mapping scales")
	case !o.find && (o.age != 0 || o.bounded):
		return usagef("--age and --dead are bounds of --find; give that, too")
	case o.find && o.age == 0 && !o.bounded:
		return usagef("--find needs a bound: --age 5m or --dead 0")
	case o.age < 0 || o.dead < 0:
		return usagef("--age is %s and --dead is %d; they must not be negative", o.age, o.dead)
	case o.html == "-":
		return usagef("--html names a file; the page does not go to standard output")
	case o.find && len(o.templates) > 1:
		return usagef("--find looks for a setting of one template, and there are two")
	}
	return nil
}

// scalingForms are the kinds of --scale, with the times that differ.
var scalingForms = map[string]model.Scaling{
	"keda":     {InFlight: true, Every: 30 * time.Second, Down: 5 * time.Minute},
	"tracking": {Every: time.Minute, Up: 3 * time.Minute, Down: 15 * time.Minute},
}

// readScaling reads --scale, nil if it is not given.
func (o *options) readScaling() (*model.Scaling, error) {
	if o.scale == "" {
		return nil, nil
	}
	kind, text, _ := strings.Cut(o.scale, ":")
	s, ok := scalingForms[kind]
	n, err := fmt.Sscanf(text+"\n", "%d,%d,%d\n", &s.MessagesPerTask, &s.Min, &s.Max)
	if !ok || err != nil || n != 3 || s.MessagesPerTask < 1 || s.Min < 0 || s.Max < max(1, s.Min) || s.Max > 5000 {
		return nil, usagef("--scale is %q; it must be keda or tracking, the messages for each container, and the least and the most containers up to 5000, like keda:100,1,20", o.scale)
	}
	return &s, nil
}

// A run is a scenario with its report.
type run struct {
	title    string       // what differs from the other runs, "" if there is only one
	settings []assignment // those of --vary
	stack    *stack
	variant  *variant
	report   *model.Report
}

// given is what the flags say that all scenarios share.
type given struct {
	load     model.Load
	work     model.Work
	troubles []model.Trouble
	scaling  *model.Scaling
}

func (o *options) readGiven() (g given, err error) {
	if g.load, err = o.readLoad(); err != nil {
		return g, err
	}
	if g.work, err = o.readWork(); err != nil {
		return g, err
	}
	if g.troubles, err = o.readTroubles(); err != nil {
		return g, err
	}
	g.scaling, err = o.readScaling()
	return g, err
}

// run runs the command.
func (o *options) run(ctx context.Context, tio cli.IO) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go tio.EachInterrupt(ctx, func(int) { cancel() })
	g, err := o.readGiven()
	if err != nil {
		return err
	}
	o.given = g
	if o.html != "" { // before the runs, which may take minutes
		file, err := os.OpenFile(o.html, os.O_WRONLY|os.O_CREATE, 0o644)
		if err != nil {
			return fmt.Errorf("--html: %w", err)
		}
		_ = file.Close() // nothing was written
	}
	c, err := o.compare()
	if err != nil {
		return err
	}
	notes := tio.Stdout
	if o.output == "json" {
		notes = tio.Stderr
	}
	p := printer{w: notes, term: view.Detect(notes)}
	p.notes(c.runs[0])
	status := view.NewText(tio.Stderr, view.Detect(tio.Stderr))
	for i, r := range c.runs {
		status.Status(fmt.Sprintf("run %d of %d %s", i+1, len(c.runs), r.title))
		if r.report, err = model.Run(ctx, r.variant.scenario); err != nil {
			return fmt.Errorf("%s: %w", cmp.Or(r.title, r.stack.name()), err)
		}
		if c.enough(r) {
			c.runs = c.runs[:i+1]
			break
		}
	}
	status.Status("")
	if len(c.runs) == 1 {
		if c.findings, err = findings(ctx, c.runs[0]); err != nil {
			return err
		}
	}
	c.choose()
	if o.output == "json" {
		err = c.writeJSON(tio.Stdout)
	} else {
		p.comparison(c)
	}
	if err == nil && o.html != "" {
		err = c.writePage(o.html, tio.Args)
	}
	if err == nil && o.find && c.best < 0 {
		err = fmt.Errorf("none of the %d settings that were tried keeps the bounds; raise them, or try others with --vary", len(c.runs))
	}
	return err
}

// scenarioOf returns the scenario of a stack with more settings.
func (o *options) scenarioOf(s *stack, more ...assignment) (*variant, error) {
	v, err := s.with(more...)
	if err != nil {
		return nil, err
	}
	sc := &v.scenario
	sc.Seed, sc.For = o.seed, o.length
	sc.Load, sc.Work, sc.Troubles = o.given.load, o.given.work, o.given.troubles
	if o.groups > 0 && !sc.Queue.FIFO {
		return nil, usagef("--groups is %d, and queue %s is not a FIFO queue", o.groups, v.deployment.Queue.Name)
	}
	sc.Load.Groups = o.groups
	if sc.Containers != nil {
		sc.Containers.Scaling = o.given.scaling
	}
	return v, nil
}
