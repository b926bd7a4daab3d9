// Package queue calls SQS for `sqsbatch dlq`. A call is repeated while SQS throttles it or
// does not answer, for up to [Patience], because a tool that runs for an hour must outlive
// a moment without a network. Calls for several messages are made in tens.
//
// account.go finds a queue, queue.go reads and moves its messages, tasks.go has SQS's own
// message move tasks, and retry.go repeats calls.
package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go/logging"
	"github.com/spf13/pflag"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/internal/endpoint"
	"github.com/sqsbatch/sqsbatch/internal/sqscall"
)

// Settings choose the account, as the AWS CLI's options of the same names do. What is empty
// comes from the environment and the files of the AWS configuration.
type Settings struct{ Region, Profile, Endpoint string }

// Flags adds the flags of the settings.
func (s *Settings) Flags(f *pflag.FlagSet) {
	f.Var(cli.Text(&s.Region, "NAME"), "region", "the region (default: that of the queue's URL or ARN, or of the AWS configuration)")
	f.Var(cli.Text(&s.Profile, "NAME"), "profile", "the profile of the AWS configuration")
	f.Var(cli.Text(&s.Endpoint, "URL"), "endpoint-url", "the endpoint, such as http://127.0.0.1:9324 for 'sqsbatch sqs' (default: that of the AWS configuration, such as AWS_ENDPOINT_URL_SQS; else the host of the queue's URL, or AWS's)")
}

// An Account makes clients for a queue that the user names, and for queues that go with it.
type Account struct {
	settings Settings
	cfg      aws.Config // its Region is that of the user's queue, if that has one
	// configured is the endpoint of the settings or of the AWS configuration, "" for none.
	configured string
	// base is the endpoint of the user's queue, "" for AWS's default.
	base string
	only *sqs.Client // of New
}

// connections is how many calls are made at the same time, at most.
const connections = 64

// Connect reads the AWS configuration for the queue that the user names by its name, URL or
// ARN; "" is for no queue in particular. It makes no call.
func Connect(ctx context.Context, s Settings, name string) (*Account, error) {
	transport := awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConnsPerHost = connections
	})
	options := []func(*config.LoadOptions) error{
		config.WithHTTPClient(transport),
		config.WithLogger(logging.Nop{}), // it has steps of finding credentials, which an error names anyway
	}
	if s.Region != "" {
		options = append(options, config.WithRegion(s.Region))
	}
	if s.Profile != "" {
		options = append(options, config.WithSharedConfigProfile(s.Profile))
	}
	a := &Account{settings: s}
	var err error
	load := func() {
		if a.cfg, err = config.LoadDefaultConfig(ctx, options...); err != nil {
			err = fmt.Errorf("the AWS configuration cannot be read: %w", err)
		}
	}
	if load(); err != nil {
		return nil, err
	}
	region, base := endpoint.Of(name)
	a.configured = cmp.Or(s.Endpoint, aws.ToString(sqs.NewFromConfig(a.cfg).Options().BaseEndpoint))
	a.base = cmp.Or(a.configured, base)
	if onLoopback(a.base) { // which needs no credentials, so the instance's metadata is not asked for them
		options = append(options, config.WithEC2IMDSClientEnableState(imds.ClientDisabled))
		if load(); err != nil {
			return nil, err
		}
		asEmulator(ctx, &a.cfg)
	}
	a.cfg.Region = cmp.Or(region, a.cfg.Region)
	return a, nil
}

// Config is the AWS configuration, for clients of other services.
func (a *Account) Config() aws.Config { return a.cfg.Copy() }

// Region is the region of queues that are named without one, "" if there is none.
func (a *Account) Region() string { return a.cfg.Region }

// Endpoint returns where another service is called, by its SDK id ("Lambda"), "" for AWS's own
// endpoint. Where the queues are not AWS's, such as in LocalStack, their server is called unless the
// configuration has an endpoint for the service: it may serve others as well, and another account's
// answers would be wrong.
func (a *Account) Endpoint(id string) string {
	elsewhere := a.base
	if ofAWS(a.base) {
		elsewhere = ""
	}
	if a.settings.Endpoint != "" {
		return elsewhere
	}
	return cmp.Or(endpoint.Configured(&a.cfg, id), elsewhere)
}

// List lists the URLs of the queues whose names begin with a prefix.
func (a *Account) List(ctx context.Context, prefix string, patience time.Duration) (urls []string, err error) {
	client, err := a.Client(ctx, "")
	if err != nil {
		return nil, err
	}
	in := &sqs.ListQueuesInput{MaxResults: aws.Int32(1000)}
	if prefix != "" {
		in.QueueNamePrefix = &prefix
	}
	for {
		page, err := Call(ctx, patience, client.ListQueues, in)
		if err != nil {
			return nil, Advise(err, "ListQueues", prefix+"*")
		}
		urls = append(urls, page.QueueUrls...)
		if in.NextToken = page.NextToken; aws.ToString(in.NextToken) == "" {
			return urls, nil
		}
	}
}

// OpenListed opens a queue by a URL of [Account.List]. It is called where the list is from,
// whatever the host of the URL is.
func (a *Account) OpenListed(ctx context.Context, queueURL string, patience time.Duration) (*Queue, error) {
	client, err := a.Client(ctx, "")
	if err != nil {
		return nil, err
	}
	return open(ctx, client, queueURL, patience)
}

// New returns an Account that only uses client, for tests.
func New(client *sqs.Client) *Account { return &Account{only: client} }

// onLoopback reports whether a server on this machine is called.
func onLoopback(base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	host := u.Hostname()
	return host == "localhost" || strings.HasSuffix("."+host, endpoint.LocalStack) || net.ParseIP(host).IsLoopback()
}

// asEmulator adds what the SDK wants and an emulator does not check.
func asEmulator(ctx context.Context, cfg *aws.Config) {
	cfg.Region = cmp.Or(cfg.Region, "us-east-1")
	if cfg.Credentials != nil {
		if _, err := cfg.Credentials.Retrieve(ctx); err == nil {
			return
		}
	}
	cfg.Credentials = credentials.NewStaticCredentialsProvider("test", "test", "")
}

// Client returns a client for a queue that the user names by its URL, ARN or name, or for no
// queue in particular.
func (a *Account) Client(ctx context.Context, name string) (*sqs.Client, error) {
	if a.only != nil {
		return a.only, nil
	}
	cfg := a.cfg.Copy()
	region, base := a.place(name)
	cfg.Region = region
	if onLoopback(base) {
		asEmulator(ctx, &cfg)
	}
	if cfg.Region == "" {
		return nil, errors.New("no region: give --region, or set AWS_REGION; a queue's URL or ARN has it as well")
	}
	return sqs.NewFromConfig(cfg, sqscall.Once, func(o *sqs.Options) {
		if a.settings.Endpoint != "" {
			o.BaseEndpoint = nil // the flag is used instead
		}
	}, endpoint.Default(base)), nil
}

// place returns where a queue is called: at the configured endpoint, else at the host of its
// URL. A name or an ARN has no host: it is looked for where the user's queue is, unless that
// is at an endpoint of AWS for another region.
func (a *Account) place(name string) (region, base string) {
	region, base = endpoint.Of(name)
	switch {
	case a.configured != "":
		base = a.configured
	case strings.Contains(name, "://"):
	case region == "" || region == a.cfg.Region || !ofAWS(a.base):
		base = a.base
	}
	return cmp.Or(region, a.cfg.Region), base
}

// ofAWS reports whether a base is an endpoint of AWS, which serves one region.
func ofAWS(base string) bool {
	u, err := url.Parse(base)
	return err == nil && endpoint.Region(u.Hostname()) != ""
}

// Open finds a queue that the user names by its name, URL or ARN, and reads its attributes.
// Calls are repeated for as long as patience, see [Opening]. It returns an error
// that says what is wrong if there is no such queue, or if it may not be used.
func (a *Account) Open(ctx context.Context, name string, patience time.Duration) (*Queue, error) {
	if _, err := endpoint.ParseARN(name); err == nil {
		return a.OpenARN(ctx, name, patience)
	}
	client, err := a.Client(ctx, name)
	if err != nil {
		return nil, err
	}
	switch {
	case strings.Contains(name, "://"):
		return open(ctx, client, name, patience)
	case strings.HasPrefix(name, "arn:") || strings.ContainsAny(name, "/: "):
		return nil, fmt.Errorf("%q is not a queue's name, URL or ARN", name)
	}
	out, err := Call(ctx, patience, client.GetQueueUrl, &sqs.GetQueueUrlInput{QueueName: &name})
	if err != nil {
		return nil, Advise(err, "GetQueueUrl", name)
	}
	return open(ctx, client, aws.ToString(out.QueueUrl), patience)
}

// ErrNotARN is the error of [Account.OpenARN] for any other text. It does not quote the text,
// which may be from a message.
var ErrNotARN = errors.New("not a queue's ARN")

// OpenARN is Open for the ARN of a queue that a message names. It takes nothing else: the
// sender of a message must not choose the host that is called with the user's credentials.
func (a *Account) OpenARN(ctx context.Context, text string, patience time.Duration) (*Queue, error) {
	arn, err := endpoint.ParseARN(text)
	if err != nil {
		return nil, ErrNotARN
	}
	client, err := a.Client(ctx, text)
	if err != nil {
		return nil, err
	}
	queueURL, err := endpoint.QueueURL(ctx, client, arn)
	if err != nil {
		return nil, err
	}
	return open(ctx, client, queueURL, patience)
}

// OpenURL opens a queue by the URL with which SQS named it in an answer about q, such as
// [Queue.Sources]. It is called where q is called, whatever the host of the URL is.
func (q *Queue) OpenURL(ctx context.Context, queueURL string, patience time.Duration) (*Queue, error) {
	return open(ctx, q.client, queueURL, patience)
}

func open(ctx context.Context, client *sqs.Client, queueURL string, patience time.Duration) (*Queue, error) {
	q := &Queue{client: client, URL: queueURL}
	if err := q.refresh(ctx, patience); err != nil {
		return nil, err
	}
	if q.ARN == "" {
		return nil, errors.New("SQS did not return the ARN of " + queueURL)
	}
	return q, nil
}
