// Package lint is the command `sqsbatch lint`: it checks templates and manifests against the rules
// of internal/rules.
//
//	sqsbatch lint --output sarif template.yaml
//
// input.go finds the templates, live.go what is deployed, samconfig.go reads the parameters that SAM would set,
// config.go and baseline.go say what is not reported, check.go applies the rules, fix.go writes
// fixes, and text.go, json.go, sarif.go, github.go and gitlab.go write what was found.
package lint

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/live"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/samconfig"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/view"
)

const command = "lint"

type options struct {
	paths      []string
	parameters cli.Assignments
	used       map[string]bool // of parameters: a template has it
	configEnv  string
	target     string // of --for: "" or "container"
	severity   string
	output     string
	fix        bool
	verbose    bool
	configPath string
	config     config
	baseline   string   // a file, "" for none
	known      baseline // of it
	list       bool
	explain    string
	base       string // the folder that SARIF's URIs and annotations are relative to
	version    string // of this program
	stdin      io.Reader
	live       bool // what is deployed is checked, as account says
	account    live.Options
	requests   string     // how many were made
	writing    sync.Mutex // held while --fix replaces a file
}

const about = `Checks SAM and CloudFormation templates, plans of Terraform, and manifests of Kubernetes, for settings that are accepted, but that lose messages or time: of event source mappings, containers, queues, roles and alarms. docs/lint.md lists the rules.

The argument is a template, a directory with template.yaml, template.yml or template.json, or the cdk.out of the CDK with all its stacks. It may also be a plan or a state of Terraform or OpenTofu, as terraform show -json prints it, or a file terraform.tfstate; a file of Kubernetes' manifests; or a task definition of Amazon ECS as the AWS CLI prints it. A - is one of them from standard input. Default: the current directory. Several may be given.`

const details = `## Parameters

A parameter of the template has the value of --parameter-overrides, else that of parameter_overrides in the samconfig.toml next to the template, else its default. The command does not guess a value that is known only once the stack is deployed. It counts the place as not checked, and --verbose lists it.

## Fixes

--fix writes only the fixes that the output shows as a diff. It keeps a fix if the finding is gone afterwards and the file is still a template. It then checks again and shows what is left. It changes no file that it cannot read, and no file that a tool writes anew (templates of the CDK, wherever they are, and .aws-sam): fix the source of those.

## Terraform

A plan is checked as it will be after it is applied. Findings name the address of the resource and the attribute, and the fix is what to write in HCL. References are followed through modules, variables and outputs. A value that is known only after the plan is applied is not judged. --fix does not change a plan.

## Deployed queues

With --live the arguments are queues. The command reads them, their dead-letter queues, event source mappings, functions, roles, keys and alarms, and changes nothing. The rules are those of templates. A fix is a command of the AWS CLI. If a stack or Terraform manages the queue, change it there. Findings of rules that need a setting which could not be read are left out, and --verbose lists them as unknown. docs/lint.md has the permissions.

## Containers

A container is checked if it has a variable of the toolkit (SQSBATCH_…), directly, from envFrom or from a ConfigMap of the same file. If the program has its queues in code, --for container says that all containers poll. Others in a task or pod with a container that has such a variable are never checked.

## Suppression

A comment on the line, or above it, suppresses a rule there: sqsbatch:ignore, the rule's id and the reason. Metadata suppresses rules for its resource, at the top level for the template: sqsbatch: {ignore: {SB106: the reason}}. A suppression needs a reason.

## Configuration

The file .sqsbatch-lint.yaml has severity and baseline, as the flags of these names, and rules: SB215: off, or SB502: error. Flags override it.

A baseline is for a project that has findings already: sqsbatch lint --output baseline > .sqsbatch-baseline writes them, and --baseline .sqsbatch-baseline reports only new ones. A finding is recognised by its rule, the path of its file and its resource, so lines may move. Run the command in the same directory each time.

## JSON output

With --output json, standard output has one JSON object a line and nothing else. The field "type" is "finding", "suppressed", "unknown" (a place that was not checked), "unreadable" (a file), "note" (about a file), "fixed" (an edit of --fix) or "summary" (the last line).

Of a place: file (the ARN of a deployed queue), stack (of the CDK), line, column, endColumn (the first column after the text, counted in characters), resource (of Kubernetes the kind, the namespace and the name), attribute (of Terraform and deployed queues, which have no lines). Of a finding: rule, severity, message, why, page (of AWS's documentation), and fix with says and diff. A line of type suppressed has reason and byLine as well, one of type fixed has says, and one of type unknown has rules (none: all rules on the resource) and message. The summary counts files, errors, warnings, notes, notShown (of lower severity), fixed, suppressed, baseline, gone (from the baseline), unknown and unreadable.

## SARIF

--output sarif is SARIF 2.1.0 for GitHub's code scanning and other consumers. URIs are relative to GITHUB_WORKSPACE if that is set and has the file, else to the current directory. The fingerprint of a finding depends on rule, file and resource. It survives lines that move and words that change.

## Exit status

The exit status is 0 when nothing was found, 1 when there are findings of the severity that --severity names or above, 2 for a wrong command line, 3 when a template or a queue could not be read, and 130 when it was interrupted. Errors and warnings fail by default, as with cfn-lint. --severity error lets warnings pass, and --severity note fails for notes, too.`

// Command is `sqsbatch lint`, of a program of the given version.
func Command(tio cli.IO, version string) *cobra.Command {
	o := options{
		parameters: cli.Assignments{}, used: map[string]bool{}, configEnv: samconfig.DefaultEnv,
		severity: "warning", output: "text", version: version, base: os.Getenv("GITHUB_WORKSPACE"),
		stdin: tio.Stdin,
	}
	cmd := &cobra.Command{
		Use:   "lint [flags] [template.yaml | directory | cdk.out | - | --live QUEUE]",
		Short: "check a template for settings that lose messages or time",
		Long:  about,
		Example: `sqsbatch lint
sqsbatch lint --config-env prod --fix template.yaml
sqsbatch lint --output sarif cdk.out > lint.sarif
terraform show -json plan.out | sqsbatch lint -
sqsbatch lint --live orders 'payments-*'
kubectl kustomize deploy | sqsbatch lint -`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.list {
				return listRules(tio.Stdout)
			}
			if o.explain != "" {
				return explainRule(tio.Stdout, o.explain)
			}
			err := o.checkLive(cmd.Flags(), args)
			if err == nil && !o.live {
				err = o.positional(args)
			}
			if err != nil {
				return err
			}
			if err := o.configure(cmd); err != nil {
				return &cli.StatusError{Status: unreadable, Err: err}
			}
			return o.interruptible(tio)
		},
	}
	o.flags(cmd)
	cli.Notes(cmd, details)
	return cmd
}

func (o *options) flags(cmd *cobra.Command) {
	cli.Section(cmd, "What is checked", func(f *pflag.FlagSet) {
		f.Var(o.parameters, "parameter-overrides", "values for the templates' parameters; several may follow: A=1 B=2. --parameter is the same")
		f.Var(cli.Text(&o.configEnv, "NAME"), "config-env", "the environment of samconfig.toml whose parameters are used")
		f.Var(cli.Choice(&o.target, "container"), "for", "what the files are for\ncontainer: every container polls, also one without a variable SQSBATCH_…")
		f.Var(cli.Text(&o.configPath, "FILE"), "config", "the configuration; "+configFile+" in the current directory by default")
		f.Var(cli.Text(&o.baseline, "FILE"), "baseline", "findings that are not reported, as --output baseline wrote them")
	})
	cli.Section(cmd, "What is deployed", o.liveFlags)
	cli.Section(cmd, "What is shown", func(f *pflag.FlagSet) {
		f.Var(cli.Choice(&o.severity, severities...), "severity", "the least severity that is shown and that fails")
		f.Var(cli.Choice(&o.output, "text", "json", "sarif", "github", "gitlab", "baseline"), "output", "the form of the output\ntext: each finding with its line, the reason and the fix\njson: one JSON object a line\nsarif: SARIF 2.1.0\ngithub: annotations of a GitHub workflow, which shows ten of each severity\ngitlab: a report of code quality\nbaseline: a line for each finding, for --baseline")
		f.BoolVar(&o.list, "list-rules", false, "list the rules and check nothing")
		f.Var(cli.Text(&o.explain, "RULE"), "explain", "say what a rule is for and check nothing: --explain SB204")
		f.BoolVar(&o.verbose, "verbose", false, "also the places that were not checked, what is suppressed, and where parameters are from")
	})
	cli.Section(cmd, "What is changed", func(f *pflag.FlagSet) {
		f.BoolVar(&o.fix, "fix", false, "write the fixes that are safe to the templates, and show what is left")
	})
	cmd.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "parameter" {
			name = "parameter-overrides"
		}
		return pflag.NormalizedName(name)
	})
}

// configure reads the configuration and the baseline. What the command line says comes first.
func (o *options) configure(cmd *cobra.Command) (err error) {
	if o.config, err = readConfig(o.configPath); err != nil {
		return err
	}
	if o.config.Severity != "" && !cmd.Flags().Changed("severity") {
		o.severity = o.config.Severity
	}
	if path := cmp.Or(o.baseline, o.config.Baseline); path != "" && o.output != "baseline" {
		o.known, err = readBaseline(path)
	}
	return err
}

// positional takes the arguments: paths, and parameters after --parameter-overrides A=1,
// as SAM's commands take them.
func (o *options) positional(args []string) error {
	for _, arg := range args {
		if _, err := os.Stat(arg); err != nil {
			if taken, err := o.parameters.Argument(command, arg); err != nil {
				return err
			} else if taken {
				continue
			}
		}
		o.paths = append(o.paths, arg)
	}
	if o.fix && slices.Contains(o.paths, stdin) {
		return cli.Usagef(command, "--fix cannot write to standard input (-); name the template's file")
	}
	return nil
}

// interruptible runs the command, and ends it at an interrupt, even while it reads from
// something that sends nothing. It lets --fix replace the file that it is about to.
func (o *options) interruptible(tio cli.IO) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- o.run(ctx, tio.Stdout, tio.Stderr) }()
	select {
	case err := <-done:
		return err
	case <-tio.Interrupts:
		o.writing.Lock() // until the end
		return &cli.StatusError{Status: interrupted, Err: errors.New("interrupted")}
	}
}

func (o *options) run(ctx context.Context, stdout, stderr io.Writer) error {
	files, err := o.files(ctx)
	if err != nil {
		return err
	}
	switch o.output {
	case "json":
		err = writeJSON(stdout, o, files)
	case "sarif":
		writeFixed(stderr, files)
		err = writeSARIF(stdout, o, files)
	case "github":
		writeFixed(stderr, files)
		err = writeGitHub(stdout, o, files)
	case "gitlab":
		writeFixed(stderr, files)
		err = writeGitLab(stdout, o, files)
	case "baseline":
		err = writeBaseline(stdout, o, files)
	default:
		err = writeText(stdout, view.Detect(stdout), o, files)
	}
	if err != nil {
		return err
	}
	return o.outcome(files)
}

// files checks what the arguments mean, and fixes it if that is asked for.
func (o *options) files(ctx context.Context) (files []*file, err error) {
	if o.live {
		files, err = o.readLive(ctx)
		if err != nil {
			err = &cli.StatusError{Status: unreadable, Err: err}
		}
		return files, err
	}
	found, err := inputs(o.paths)
	if err != nil {
		return nil, &cli.StatusError{Status: unreadable, Err: err}
	}
	for _, in := range found {
		files = append(files, o.check(in))
	}
	if err := o.unusedParameter(files); err != nil {
		return nil, err
	}
	if o.fix {
		for _, f := range files {
			o.fixAll(f)
		}
	}
	return files, nil
}
