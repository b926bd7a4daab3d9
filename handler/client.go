package handler

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/sqsbatch/sqsbatch/internal/endpoint"
)

// client returns the configured client, or makes one at the first call: a
// function whose records succeed never pays for it.
func (c *Config) client() func(context.Context) (*sqs.Client, error) {
	client := sync.OnceValues(func() (*sqs.Client, error) {
		if c.SQS != nil {
			return c.SQS, nil
		}
		// Lambda's credentials are in its environment. Without any, looking
		// for those of an EC2 instance would only cost seconds.
		cfg, err := config.LoadDefaultConfig(context.Background(), config.WithEC2IMDSClientEnableState(imds.ClientDisabled))
		return sqs.NewFromConfig(cfg), err
	})
	return func(context.Context) (*sqs.Client, error) { return client() }
}

// pollClient makes the client for a queue: for the region of its URL or ARN, and
// the URL's host if that is not what a client calls there by itself.
func (c *Config) pollClient(ctx context.Context, queue string) (*sqs.Client, error) {
	if c.SQS != nil {
		return c.SQS, nil
	}
	transport := awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConnsPerHost = 64 // as many calls as a busy poller makes at a time
	})
	cfg, err := config.LoadDefaultConfig(ctx, config.WithHTTPClient(transport))
	if err != nil {
		return nil, fmt.Errorf("handler: no AWS configuration: %w", err)
	}
	region, base := endpoint.Of(queue)
	cfg.Region = cmp.Or(region, cfg.Region)
	if cfg.Region == "" && base == "" {
		return nil, fmt.Errorf("handler: no region for queue %s: set AWS_REGION, or give the queue's URL or ARN", queue)
	}
	cfg.Region = cmp.Or(cfg.Region, "us-east-1") // an endpoint of its own looks at no region
	return sqs.NewFromConfig(cfg, func(o *sqs.Options) {
		if o.BaseEndpoint == nil && base != "" {
			o.BaseEndpoint = &base
			// The host says whether it is one of these; the SDK refuses both.
			o.EndpointOptions.UseFIPSEndpoint = aws.FIPSEndpointStateDisabled
			o.EndpointOptions.UseDualStackEndpoint = aws.DualStackEndpointStateDisabled
		}
	}), nil
}
