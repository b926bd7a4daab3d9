package serve

import (
	"regexp"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/console"
)

const command = "sqs"

type options struct {
	addr       string
	hosts      []string
	queues     queueFlags
	template   string
	parameters cli.Assignments
	region     string
	account    string
	readyFile  string
	output     string
	verbose    bool
	page       console.Options
	quiet      bool
}

const about = `Serves the SQS emulator by itself, for programs in any language. It keeps everything in memory: when it ends, the queues are gone. Ctrl-C or SIGTERM ends it at once.`

const details = `## Queues

The attributes of --queue have the names of CreateQueue. Two more stand for a RedrivePolicy: dead-letter=NAME is the dead-letter queue, and max-receive-count=N (1 to 1000, default 10 as SQS's) the number of receives before a message goes there. A dead-letter queue that no other flag creates is created with default attributes. A name that ends in .fifo creates a FIFO queue. Clients can create other queues.

## Clients

The endpoint refuses calls by other names than localhost and those of --allow-host, and requests of web pages, because it checks no credentials. Version 1 of the AWS CLI needs --endpoint-url.

## JSON output

With --output json, standard output has one JSON object a line and nothing else. The field "type" is "ready" (the first line, with endpoint, region, accountId, page (of --ui) and queues: name, url, arn, deadLetterQueue, maxReceiveCount), and with --verbose the kind of an event of a message, "refused" or "lost". docs/emulators.md lists their fields.

## Exit status

The exit status is 0 when it was ended, 1 when it could not run, and 2 for a wrong command line.`

// Command returns `sqsbatch sqs`.
func Command(tio cli.IO) *cobra.Command {
	o := options{
		addr: "127.0.0.1:9324", region: "us-east-1", account: "000000000000", output: "text",
		parameters: cli.Assignments{},
	}
	cmd := &cobra.Command{
		Use:   "sqs [flags]",
		Short: "serve the embedded SQS alone, for programs in any language",
		Long:  about,
		Example: `sqsbatch sqs --queue orders,VisibilityTimeout=60,dead-letter=dead \
             --queue events.fifo,ContentBasedDeduplication=true
sqsbatch sqs --template template.yaml --verbose`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, arg := range args {
				if taken, err := o.parameters.Argument(command, arg); err != nil {
					return err
				} else if !taken {
					return cli.Usagef(command, "%q is no flag; a queue is --queue %s", arg, arg)
				}
			}
			if err := o.check(); err != nil {
				return err
			}
			return run(cmd.Context(), o, tio)
		},
	}
	o.flags(cmd)
	cli.Notes(cmd, details)
	return cmd
}

func (o *options) flags(cmd *cobra.Command) {
	cli.Section(cmd, "Where it listens", func(f *pflag.FlagSet) {
		f.Var(cli.Text(&o.addr, "HOST:PORT"), "addr", "on loopback only; port 0 is a free one")
		f.Var(cli.Hosts(&o.hosts), "allow-host", "a name by which clients may reach it, besides localhost, such as host.docker.internal from a container; may be repeated")
		f.Var(cli.Text(&o.region, "NAME"), "region", "the region in the queues' ARNs")
		f.Var(cli.Text(&o.account, "DIGITS"), "account", "the account in ARNs and URLs, 12 digits")
	})
	cli.Section(cmd, "Queues at the start", func(f *pflag.FlagSet) {
		f.Var(&o.queues, "queue", "a queue and its attributes, as explained below; may be repeated")
		f.Var(cli.Text(&o.template, "FILE"), "template", "the queues of a SAM or CloudFormation template")
		f.Var(o.parameters, "parameter-overrides", "values for the template's parameters; several may follow: A=1 B=2")
	})
	cli.Section(cmd, "What is shown", func(f *pflag.FlagSet) {
		o.page.Flags(f)
		f.BoolVar(&o.verbose, "verbose", false, "what happens to each message, a line an event, with the beginning of its body; and each call that is refused, with the code and message of the error")
		f.BoolVar(&o.quiet, "quiet", false, "nothing but warnings and errors")
		f.Var(cli.Choice(&o.output, "text", "json"), "output", "the form of the output\ntext: the endpoint, the queues, the environment variables by which clients find it, and \"ready\" once it listens\njson: one JSON object a line")
		f.Var(cli.Text(&o.readyFile, "FILE"), "ready-file", "a file that has the endpoint once it listens, and that is removed at the end")
	})
}

var (
	regionPattern  = regexp.MustCompile(`^[a-z0-9-]{1,63}$`)
	accountPattern = regexp.MustCompile(`^[0-9]{12}$`)
)

func (o *options) check() error {
	switch {
	case !regionPattern.MatchString(o.region):
		return cli.Usagef(command, "--region is %q; it must be a region's name, as eu-central-1", o.region)
	case !accountPattern.MatchString(o.account):
		return cli.Usagef(command, "--account is %q; it must be 12 digits", o.account)
	case o.quiet && o.verbose:
		return cli.Usagef(command, "--quiet and --verbose contradict each other; give one")
	case len(o.parameters) > 0 && o.template == "":
		return cli.Usagef(command, "--parameter-overrides is for the parameters of a template; name it with --template FILE")
	}
	return nil
}
