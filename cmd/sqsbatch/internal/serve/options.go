package serve

import (
	"regexp"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
)

const command = "sqs"

type options struct {
	addr       string
	hosts      cli.Hosts
	queues     queueFlags
	template   string
	parameters cli.Assignments
	region     string
	account    string
	readyFile  string
	output     string
	verbose    bool
	quiet      bool
}

// Usage is what `sqsbatch sqs -h` prints.
const Usage = `Serves the SQS emulator by itself, for programs in any language. It keeps
everything in memory: when it ends, the queues are gone.

Usage:
  sqsbatch sqs [flags]

Where it listens:
  --addr HOST:PORT   on loopback only, because it checks no credentials (default
                     127.0.0.1:9324; port 0 takes a free one)
  --allow-host NAME  a name besides localhost by which clients reach it, such as
                     host.docker.internal from a container; may be repeated.
                     Other names, and requests of web pages, are refused
  --region NAME      of the queues' ARNs (default us-east-1)
  --account DIGITS   12 digits, of ARNs and URLs (default 000000000000)

Which queues there are at the start (clients can create others):
  --queue NAME[,ATTRIBUTE=VALUE...]
                     a queue, with attributes by their names in CreateQueue; may
                     be repeated. A name that ends in .fifo makes a FIFO queue.
                     Two more stand for a RedrivePolicy:
                       dead-letter=NAME      the dead-letter queue; it is made
                                             with default attributes if no other
                                             flag makes it
                       max-receive-count=N   1 to 1000 (default 10, as SQS's)
  --template FILE    the queues of a SAM or CloudFormation template
  --parameter-overrides KEY=VALUE ...
                     values for the template's parameters

  sqsbatch sqs --queue orders,VisibilityTimeout=60,dead-letter=dead \
               --queue events.fifo,ContentBasedDeduplication=true

What is shown:
  --verbose          what happens to each message, a line an event, with the
                     beginning of its body; and each call that is refused, with
                     the code and message of the error
  --quiet            nothing but warnings and errors
  --output text      (default) the endpoint, the queues, the variables of the
                     environment by which clients find it, and "ready" once it
                     listens. Version 1 of the AWS CLI needs --endpoint-url
  --output json      one JSON object a line and nothing else on standard output.
                     "type" is "ready" (the first, with endpoint, region,
                     accountId and queues: name, url, arn, deadLetterQueue,
                     maxReceiveCount), and with --verbose the kind of an event
                     of a message, "refused" or "lost"; docs/emulators.md has
                     the fields
  --ready-file FILE  is written with the endpoint once it listens and removed at
                     the end

Ctrl-C or SIGTERM ends it at once.

Exit status: 0 when it was ended, 1 when it could not run, 2 for a wrong command
line.
`

// parse reads the command line. The error is flag.ErrHelp when help is asked for.
func parse(args []string) (options, error) {
	o := options{parameters: cli.Assignments{}}
	fs := cli.NewFlagSet(command)
	fs.StringVar(&o.addr, "addr", "127.0.0.1:9324", "")
	fs.Var(&o.hosts, "allow-host", "")
	fs.Var(&o.queues, "queue", "")
	fs.StringVar(&o.template, "template", "", "")
	fs.Var(o.parameters, "parameter-overrides", "")
	fs.StringVar(&o.region, "region", "us-east-1", "")
	fs.StringVar(&o.account, "account", "000000000000", "")
	fs.StringVar(&o.readyFile, "ready-file", "", "")
	fs.StringVar(&o.output, "output", "text", "")
	fs.BoolVar(&o.verbose, "verbose", false, "")
	fs.BoolVar(&o.quiet, "quiet", false, "")
	for {
		if err := cli.Parse(fs, args); err != nil {
			return o, err
		}
		if fs.NArg() == 0 {
			return o, o.check()
		}
		// --parameter-overrides A=1 B=2, as SAM's commands take it.
		arg := fs.Arg(0)
		if len(o.parameters) == 0 {
			return o, cli.Usagef(command, "%q is no flag; a queue is --queue %s", arg, arg)
		}
		if err := o.parameters.Set(arg); err != nil {
			return o, cli.Usagef(command, "--parameter-overrides %s: %v", arg, err)
		}
		args = fs.Args()[1:]
	}
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
	case o.output != "text" && o.output != "json":
		return cli.Usagef(command, "--output is %q; it must be text or json", o.output)
	case o.quiet && o.verbose:
		return cli.Usagef(command, "--quiet and --verbose contradict each other; give one")
	case len(o.parameters) > 0 && o.template == "":
		return cli.Usagef(command, "--parameter-overrides is for the parameters of a template; name it with --template FILE")
	}
	return nil
}
