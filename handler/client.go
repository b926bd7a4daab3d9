package handler

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go/logging"
	"github.com/sqsbatch/sqsbatch/internal/endpoint"
)

// client returns a function that returns the configured client, or makes one at the first call.
// An invocation in which all records succeed usually needs none.
func (c *Config) client() func(context.Context) (*sqs.Client, error) {
	client := sync.OnceValues(func() (*sqs.Client, error) {
		if c.SQS != nil {
			return c.SQS, nil
		}
		// On Lambda the credentials are in the environment. If they are missing, asking the
		// EC2 metadata service would only take seconds.
		cfg, err := config.LoadDefaultConfig(context.Background(), config.WithEC2IMDSClientEnableState(imds.ClientDisabled), config.WithLogger(c.sdkLogger()))
		return sqs.NewFromConfig(cfg), err
	})
	return func(context.Context) (*sqs.Client, error) { return client() }
}

// pollClient returns the configured client, or a new one for a queue, with the region of the
// queue's URL or ARN, and with the URL's host if that is not the default.
func (c *Config) pollClient(ctx context.Context, queue string) (*sqs.Client, error) {
	if c.SQS != nil {
		return c.SQS, nil
	}
	transport := awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConnsPerHost = 64 // a busy poller makes up to this many calls at the same time
	})
	cfg, err := config.LoadDefaultConfig(ctx, config.WithHTTPClient(transport), config.WithLogger(c.sdkLogger()))
	if err != nil {
		return nil, fmt.Errorf("handler: no AWS configuration: %w", err)
	}
	region, base := endpoint.Of(queue)
	cfg.Region = cmp.Or(region, cfg.Region)
	if cfg.Region == "" && base == "" {
		return nil, fmt.Errorf("handler: no region for queue %s: set AWS_REGION, or give the queue's URL or ARN", queue)
	}
	cfg.Region = cmp.Or(cfg.Region, "us-east-1") // a configured endpoint ignores the region, but the SDK requires one
	return sqs.NewFromConfig(cfg, endpoint.Default(base)), nil
}

// sdkLogger returns a logger for the SDK, which would write plain text to standard error
// otherwise, such as when it asks for credentials by an older protocol.
func (c *Config) sdkLogger() logging.Logger {
	return logging.LoggerFunc(func(class logging.Classification, format string, v ...any) {
		level := slog.LevelDebug
		if class == logging.Warn {
			level = slog.LevelWarn
		}
		c.Logger.Log(context.Background(), level, fmt.Sprintf(format, v...), "logger", "aws-sdk-go-v2")
	})
}
