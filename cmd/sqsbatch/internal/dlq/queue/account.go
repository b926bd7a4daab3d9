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
	"os"
	"strings"
	"sync"
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
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
	"github.com/sqsbatch/sqsbatch/internal/wholebody"
)

// Settings choose the account, as the AWS CLI's options of the same names do. What is empty
// comes from the environment and the files of the AWS configuration.
type Settings struct{ Region, Profile, Endpoint string }

// Flags adds the flags of the settings.
func (s *Settings) Flags(f *pflag.FlagSet) {
	f.Var(cli.Text(&s.Region, "NAME"), "region", "the region (default: that of the queue's URL or ARN, or of the AWS configuration)")
	f.Var(cli.Text(&s.Profile, "NAME"), "profile", "the profile of the AWS configuration")
	f.Var(cli.Text(&s.Endpoint, "URL"), "endpoint-url", "the endpoint, such as http://127.0.0.1:9324 for 'sqsbatch sqs' (default: AWS_ENDPOINT_URL_SQS, or that of AWS)")
}

// An Account makes clients.
type Account struct {
	settings Settings
	cfg      aws.Config
	mu       sync.Mutex
	clients  map[clientKey]*sqs.Client
}

type clientKey struct{ region, base string }

// connections is how many calls are made at the same time, at most.
const connections = 64

// Connect reads the AWS configuration. It makes no call.
func Connect(ctx context.Context, s Settings) (*Account, error) {
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
	base := cmp.Or(s.Endpoint, os.Getenv("AWS_ENDPOINT_URL_SQS"), os.Getenv("AWS_ENDPOINT_URL"))
	if onLoopback(base) {
		options = append(options, config.WithEC2IMDSClientEnableState(imds.ClientDisabled))
	}
	cfg, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("the AWS configuration cannot be read: %w", err)
	}
	if onLoopback(base) {
		asEmulator(ctx, &cfg)
	}
	return &Account{settings: s, cfg: cfg, clients: map[clientKey]*sqs.Client{}}, nil
}

// Config is the AWS configuration, for clients of other services.
func (a *Account) Config() aws.Config { return a.cfg.Copy() }

// New returns an Account that only uses client, for tests.
func New(client *sqs.Client) *Account {
	return &Account{clients: map[clientKey]*sqs.Client{{}: client}}
}

// onLoopback reports whether a server on this machine is called.
func onLoopback(base string) bool {
	u, err := url.Parse(base)
	if err != nil || base == "" {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
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

// Client returns the client for a queue's URL, ARN or name, or for no queue in particular.
func (a *Account) Client(ctx context.Context, name string) (*sqs.Client, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if only := a.clients[clientKey{}]; only != nil {
		return only, nil
	}
	region, base := endpoint.Of(name)
	cfg := a.cfg.Copy()
	cfg.Region = cmp.Or(region, a.cfg.Region)
	base = cmp.Or(a.settings.Endpoint, base)
	if onLoopback(base) {
		asEmulator(ctx, &cfg)
	}
	if cfg.Region == "" {
		return nil, errors.New("no region: give --region, or set AWS_REGION; a queue's URL or ARN has it as well")
	}
	key := clientKey{cfg.Region, base}
	if a.clients[key] == nil {
		a.clients[key] = sqs.NewFromConfig(cfg, sqserror.Once, wholebody.Use, func(o *sqs.Options) {
			if base != "" {
				o.BaseEndpoint = &base
				o.EndpointOptions.UseFIPSEndpoint = aws.FIPSEndpointStateDisabled
				o.EndpointOptions.UseDualStackEndpoint = aws.DualStackEndpointStateDisabled
			}
		})
	}
	return a.clients[key], nil
}

// Open finds a queue by its name, URL or ARN and reads its attributes. Calls are repeated for
// as long as patience, see [Opening]. It returns an error
// that says what is wrong if there is no such queue, or if it may not be used.
func (a *Account) Open(ctx context.Context, name string, patience time.Duration) (*Queue, error) {
	client, err := a.Client(ctx, name)
	if err != nil {
		return nil, err
	}
	q := &Queue{client: client, URL: name}
	arn, notARN := endpoint.ParseARN(name)
	switch {
	case notARN == nil:
		q.URL, err = endpoint.QueueURL(ctx, client, arn)
	case strings.Contains(name, "://"):
	case strings.HasPrefix(name, "arn:") || strings.ContainsAny(name, "/: "):
		return nil, fmt.Errorf("%q is not a queue's name, URL or ARN", name)
	default:
		out, err := Call(ctx, patience, client.GetQueueUrl, &sqs.GetQueueUrlInput{QueueName: &name})
		if err != nil {
			return nil, Advise(err, "GetQueueUrl", name)
		}
		q.URL = aws.ToString(out.QueueUrl)
	}
	if err != nil {
		return nil, err
	}
	if err := q.refresh(ctx, patience); err != nil {
		return nil, err
	}
	if q.ARN == "" {
		return nil, errors.New("SQS did not return the ARN of " + name)
	}
	return q, nil
}
