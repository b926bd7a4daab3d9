package partialfailure

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
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

// queueURL derives a queue's URL from its ARN without a call to SQS
// (GetQueueUrl is in neither of SAM's policies for a function with a queue):
// the endpoint that the client itself resolves, so that partition, FIPS,
// dual stack and custom endpoints are right, with account and name as its path.
func queueURL(ctx context.Context, client *sqs.Client, arn queueARN) (string, error) {
	o := client.Options()
	endpoint, err := o.EndpointResolverV2.ResolveEndpoint(ctx, sqs.EndpointParameters{
		Region:       &arn.region,
		UseDualStack: aws.Bool(o.EndpointOptions.UseDualStackEndpoint == aws.DualStackEndpointStateEnabled),
		UseFIPS:      aws.Bool(o.EndpointOptions.UseFIPSEndpoint == aws.FIPSEndpointStateEnabled),
		Endpoint:     o.BaseEndpoint,
	})
	if err != nil {
		return "", fmt.Errorf("no SQS endpoint for region %q: %w", arn.region, err)
	}
	return strings.TrimSuffix(endpoint.URI.String(), "/") + "/" + arn.account + "/" + arn.name, nil
}

// queue is a queue that can be called.
type queue struct {
	client  *sqs.Client
	url     string
	options []func(*sqs.Options)
}

// queueAt returns the queue with an ARN or a URL.
func (s *Settler) queueAt(ctx context.Context, arnOrURL string) (queue, error) {
	client, err := s.cfg.Client(ctx)
	if err != nil {
		return queue{}, fmt.Errorf("no SQS client: %w", err)
	}
	q := queue{client: client, url: arnOrURL, options: []func(*sqs.Options){limitRetries}}
	if strings.HasPrefix(arnOrURL, "arn:") || !strings.Contains(arnOrURL, "://") {
		arn, err := parseARN(arnOrURL)
		if err != nil {
			return queue{}, err
		}
		if q.url, err = queueURL(ctx, client, arn); err != nil {
			return queue{}, err
		}
		q.options = append(q.options, func(o *sqs.Options) { o.Region = arn.region })
	}
	return q, nil
}
