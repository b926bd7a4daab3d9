package partialfailure

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/sqsbatch/sqsbatch/internal/endpoint"
)

// queueARN is arn:PARTITION:sqs:REGION:ACCOUNT:NAME.
type queueARN struct{ region, account, name string }

func parseARN(s string) (queueARN, error) {
	part := strings.Split(s, ":")
	if len(part) != 6 || part[0] != "arn" || part[2] != "sqs" || part[3] == "" || part[4] == "" || part[5] == "" {
		return queueARN{}, fmt.Errorf("%q is no queue's ARN (arn:aws:sqs:REGION:ACCOUNT:NAME)", s)
	}
	return queueARN{region: part[3], account: part[4], name: part[5]}, nil
}

// sameQueue reports whether a URL or ARN names the queue with an ARN.
func sameQueue(arnOrURL, arn string) bool {
	if arnOrURL == arn {
		return true
	}
	a, err := parseARN(arn)
	u, urlErr := url.Parse(arnOrURL)
	if err != nil || urlErr != nil || u.Host == "" {
		return false
	}
	region := endpoint.Region(u.Host)
	return strings.Trim(u.Path, "/") == a.account+"/"+a.name && (region == "" || region == a.region)
}

// queueURL derives a queue's URL from its ARN without a call to SQS
// (GetQueueUrl is in neither of SAM's policies for a function with a queue):
// the endpoint that the client itself resolves, so that partition, FIPS,
// dual stack and custom endpoints are right, with account and name as its path.
func queueURL(ctx context.Context, client *sqs.Client, arn queueARN) (string, error) {
	o := client.Options()
	resolved, err := o.EndpointResolverV2.ResolveEndpoint(ctx, sqs.EndpointParameters{
		Region:       &arn.region,
		UseDualStack: aws.Bool(o.EndpointOptions.UseDualStackEndpoint == aws.DualStackEndpointStateEnabled),
		UseFIPS:      aws.Bool(o.EndpointOptions.UseFIPSEndpoint == aws.FIPSEndpointStateEnabled),
		Endpoint:     o.BaseEndpoint,
	})
	if err != nil {
		return "", fmt.Errorf("no SQS endpoint for region %q: %w", arn.region, err)
	}
	return strings.TrimSuffix(resolved.URI.String(), "/") + "/" + arn.account + "/" + arn.name, nil
}

// queue is a queue that can be called.
type queue struct {
	client  *sqs.Client
	url     string
	options []func(*sqs.Options)
}

// queueAt returns the queue with an ARN or a URL.
func (s *Settler) queueAt(ctx context.Context, arnOrURL string) (queue, error) {
	client, err := s.client(ctx)
	if err != nil {
		return queue{}, fmt.Errorf("no SQS client: %w", err)
	}
	q := queue{client: client, url: strings.TrimSuffix(arnOrURL, "/")}
	region := ""
	if u, err := url.Parse(arnOrURL); err == nil && u.Host != "" {
		region = endpoint.Region(u.Host)
	} else {
		arn, err := parseARN(arnOrURL)
		if err != nil {
			return queue{}, fmt.Errorf("%w: %w", errNoARN, err)
		}
		if q.url, err = queueURL(ctx, client, arn); err != nil {
			return queue{}, err
		}
		region = arn.region
	}
	q.options = []func(*sqs.Options){limitRetries, func(o *sqs.Options) {
		if region != "" {
			o.Region = region
		}
	}}
	return q, nil
}

// client asks the configuration for its client, which is the user's code.
func (s *Settler) client(ctx context.Context) (client *sqs.Client, err error) {
	defer func() {
		if v := recover(); v != nil {
			client, err = nil, fmt.Errorf("Config.Client panicked: %v", v)
		}
	}()
	client, err = s.cfg.Client(ctx)
	if err == nil && client == nil {
		err = errors.New("Config.Client returned nil")
	}
	return client, err
}

var (
	errNoARN             = errors.New("the records do not say their queue")
	errNoDeadLetterQueue = errors.New("the queue has no RedrivePolicy")
	errOwnQueue          = errors.New("the dead-letter queue is the queue itself")
	errRefused           = errors.New("not called: SQS refused the same before")
)
