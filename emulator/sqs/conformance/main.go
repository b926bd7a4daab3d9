// Command conformance compares an SQS-compatible service with AWS's documentation of SQS,
// through the real SDK:
//
//	go run github.com/sqsbatch/sqsbatch/emulator/sqs/conformance -endpoint http://127.0.0.1:9324
//
// It prints a line for each check. For failed checks it also prints the expected and the
// actual result, and the page of the documentation. The exit status is 0 if all documented
// checks pass, 1 if some do not, and 2 if the command could not run.
//
// Without -endpoint it runs against AWS, with the credentials and the region of the SDK's
// default chain. It then creates about 300 queues, whose names begin with "conformance-"
// and eight random characters, makes some 3,000 requests, and deletes the queues, also after
// Ctrl-C.
//
// For other servers, use the same flag. ElasticMQ needs -region elasticmq, which is the
// region in its ARNs. LocalStack runs without a container, from PyPI:
//
//	pip install 'localstack-core[runtime]==4.7.*' 'cbor2<5.8' 'pyopenssl==24.3.0' 'cryptography==44.0.3' 'service_identity==24.2.0'
//	SERVICES=sqs EAGER_SERVICE_LOADING=1 DISABLE_EVENTS=1 SKIP_SSL_CERT_DOWNLOAD=1 DNS_ADDRESS=0 \
//	GATEWAY_SERVER=hypercorn GATEWAY_LISTEN=127.0.0.1:4566 LOCALSTACK_HOST=127.0.0.1:4566 \
//	SQS_ENDPOINT_STRATEGY=path SQS_DELAY_PURGE_RETRY=1 SQS_DELAY_RECENTLY_DELETED=1 \
//	python -m localstack.runtime.main
//	go run github.com/sqsbatch/sqsbatch/emulator/sqs/conformance -endpoint http://127.0.0.1:4566 -parallel 16
//
// With GATEWAY_SERVER's default, LocalStack listens on all addresses. It does not start
// with newer versions of the pinned packages. The SQS variables enable behavior of AWS that
// LocalStack leaves out by default.
package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// options are the flags of the command line.
type options struct {
	endpoint, region string
	only             *regexp.Regexp
	list, slow       bool
	parallel         int
	timeout          time.Duration
}

func parse(args []string, stderr io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("conformance", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.endpoint, "endpoint", "", "`URL` of the service; AWS when empty")
	flags.StringVar(&o.region, "region", "", "the service's region; with -endpoint us-east-1 when empty")
	flags.BoolVar(&o.list, "list", false, "list the checks and run none")
	flags.BoolVar(&o.slow, "slow", false, "run the slow checks, too: six minutes")
	flags.IntVar(&o.parallel, "parallel", 64, "run so many checks at the same time")
	flags.DurationVar(&o.timeout, "timeout", 0, "end a check after so long; 1m (AWS: 2m30s) when 0")
	flags.Func("run", "run the checks whose id matches the `regexp`", func(text string) (err error) {
		o.only, err = regexp.Compile(text)
		return err
	})
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	switch {
	case flags.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q: there are flags only", flags.Arg(0))
	case o.parallel < 1:
		err = fmt.Errorf("-parallel is %d: want 1 or more", o.parallel)
	case o.timeout < 0:
		err = fmt.Errorf("-timeout is %v: want 0 or more", o.timeout)
	}
	return o, err
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	failed := false
	if err == nil {
		failed, err = o.run(ctx, stdout, stderr)
	}
	switch {
	case err != nil:
		_, _ = fmt.Fprintln(stderr, "conformance:", err)
		return 2
	case failed:
		return 1
	}
	return 0
}

func (o options) run(ctx context.Context, stdout, stderr io.Writer) (failed bool, err error) {
	c := Config{Only: o.only, Slow: o.slow || o.list, Parallel: o.parallel, Prefix: newPrefix(), Patience: 10 * time.Second, Timeout: time.Minute}
	chosen := c.Chosen()
	if len(chosen) == 0 {
		return false, fmt.Errorf("no check matches -run %s (slow ones need -slow)", o.only)
	}
	if o.list {
		return false, printList(stdout, chosen)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = o.parallel
	defer transport.CloseIdleConnections()
	if c.Client, err = o.client(ctx, &http.Client{Transport: transport}); err != nil {
		return false, err
	}
	if err := reach(ctx, c.Client); err != nil {
		return false, err
	}
	if o.endpoint == "" {
		// AWS: new attributes take up to 60 s, a new queue 1 s (API reference, CreateQueue).
		c.Patience, c.Settle, c.Timeout = 75*time.Second, time.Second, 150*time.Second
		_, _ = fmt.Fprintf(stderr, "Checking AWS in %s with queues named %s-…, which are deleted in the end.\n", c.Client.Options().Region, c.Prefix)
	}
	c.Timeout = cmp.Or(o.timeout, c.Timeout)
	report := report{stdout}
	c.Done = report.line
	results, err := Run(ctx, c)
	for _, r := range results {
		if r.Leftover != nil {
			_, _ = fmt.Fprintln(stderr, "conformance:", r.Leftover)
		}
	}
	if err != nil {
		return false, fmt.Errorf("stopped: %w", err)
	}
	return report.end(results)
}

// newPrefix returns a random prefix for the names of queues.
func newPrefix() string { return "conformance-" + strings.ToLower(rand.Text()[:8]) }

// client returns the SDK's client. With an endpoint it uses made-up credentials and does
// not retry, so that checks get every error.
func (o options) client(ctx context.Context, transport *http.Client) (*awssqs.Client, error) {
	if o.endpoint != "" {
		return awssqs.New(awssqs.Options{
			Region: cmp.Or(o.region, "us-east-1"), BaseEndpoint: &o.endpoint, HTTPClient: transport, Retryer: aws.NopRetryer{},
			Credentials: credentials.NewStaticCredentialsProvider("conformance", "conformance", ""),
		}), nil
	}
	loaded, err := config.LoadDefaultConfig(ctx, config.WithHTTPClient(transport), config.WithRegion(o.region))
	if err != nil {
		return nil, err
	}
	if loaded.Region == "" {
		return nil, errors.New("no region: give -region, or set AWS_REGION; for a server of your own give -endpoint")
	}
	return awssqs.NewFromConfig(loaded), nil
}

// reach returns an error if the service does not answer, before all checks fail for that reason.
func reach(ctx context.Context, client *awssqs.Client) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	if _, err := client.ListQueues(ctx, &awssqs.ListQueuesInput{}); err != nil {
		return fmt.Errorf("the service does not answer ListQueues: %w", err)
	}
	return nil
}

// report prints the results of the checks.
type report struct{ out io.Writer }

// line prints one result.
func (r report) line(result Result) {
	if result.Err == nil {
		_, _ = fmt.Fprintf(r.out, "ok    %s (%v)\n", result.ID, result.Took.Round(time.Millisecond))
		return
	}
	word := "FAIL "
	if !result.Promised() {
		word = "note "
	}
	_, _ = fmt.Fprintf(r.out, "%s %s (%v)\n      must: %s\n      but:  %s\n      see:  %s\n", word, result.ID, result.Took.Round(time.Millisecond),
		result.Must, strings.ReplaceAll(result.Err.Error(), "\n", "\n            "), sources(result.Check, "\n            "))
}

// sources returns the sources of a check.
func sources(c Check, separator string) string {
	text := c.Page.Title + ", " + c.Page.URL
	if c.Recorded.Place != "" {
		text += separator + c.Recorded.String()
	}
	return text
}

// end prints the counts and reports whether a documented check failed.
func (r report) end(results []Result) (failed bool, err error) {
	const all, besides = "all", ""
	themes := []string{}
	passed, of := map[string]int{}, map[string]int{} // by theme
	for _, result := range results {
		names := []string{besides}
		if result.Promised() {
			names = []string{result.Theme(), all}
			if of[result.Theme()] == 0 {
				themes = append(themes, result.Theme())
			}
		}
		for _, name := range names {
			of[name]++
			if result.Err == nil {
				passed[name]++
			}
		}
	}
	table := tabwriter.NewWriter(r.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintf(table, "\ntheme\tpassed\tof\t\n")
	for _, theme := range append(themes, all) {
		_, _ = fmt.Fprintf(table, "%s\t%d\t%d\t\n", theme, passed[theme], of[theme])
	}
	err = table.Flush()
	if err == nil && of[besides] > 0 {
		_, err = fmt.Fprintf(r.out, "Besides, %d of %d that AWS neither documents clearly nor was recorded with on a known day.\n", passed[besides], of[besides])
	}
	return passed[all] < of[all], err
}

// printList prints the checks without running them.
func printList(out io.Writer, all []Check) error {
	promised, recorded, slow := 0, 0, 0
	for _, c := range all {
		mark := ""
		if c.Slow {
			mark = " (slow)"
		}
		if c.Undocumented {
			mark += " (undocumented)"
		}
		if c.Reading {
			mark += " (our reading)"
		}
		if c.Promised() {
			promised++
			if c.Slow {
				slow++
			}
			if c.Recorded.Date != "" {
				recorded++
			}
		}
		if _, err := fmt.Fprintf(out, "%s%s\n      %s\n      %s\n", c.ID, mark, c.Must, sources(c, "\n      ")); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(out, "\n%d checks, %d of them slow, %d with a recording of AWS's answer; besides, %d that AWS neither documents clearly nor was recorded with on a known day.\n",
		promised, slow, recorded, len(all)-promised)
	return err
}
