package s3payload

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/sqsbatch/sqsbatch/internal/s3client"
)

// clientOf returns a function that returns client or else makes one. If the configuration
// could not be loaded, the next call tries again. A function whose messages are all small
// makes no client.
func clientOf(client *s3.Client) func(context.Context) (*s3.Client, error) {
	var mu sync.Mutex
	return func(ctx context.Context) (*s3.Client, error) {
		mu.Lock()
		defer mu.Unlock()
		if client != nil {
			return client, nil
		}
		cfg, err := loadConfig(ctx)
		if err == nil {
			client = s3.NewFromConfig(cfg, s3client.Use)
		}
		return client, err
	}
}

func loadConfig(ctx context.Context) (aws.Config, error) {
	var options []func(*config.LoadOptions) error
	if os.Getenv("AWS_LAMBDA_RUNTIME_API") != "" { // the credentials are in the environment
		options = append(options, config.WithEC2IMDSClientEnableState(imds.ClientDisabled))
	}
	cfg, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return cfg, fmt.Errorf("s3payload: no AWS configuration: %w", err)
	}
	if cfg.Region == "" {
		return cfg, errNoRegion
	}
	return cfg, nil
}

var errNoRegion = errors.New("s3payload: no region: set AWS_REGION")
