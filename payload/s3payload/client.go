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
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// clientOf returns client, or makes one at the first call: a function whose
// messages are small never pays for it.
func clientOf(client *s3.Client) func(context.Context) (*s3.Client, error) {
	return whenNeeded(client, func(cfg aws.Config) *s3.Client {
		return s3.NewFromConfig(cfg, func(o *s3.Options) {
			// The name of a bucket below that of LocalStack, MinIO or the like
			// is one that nobody resolves.
			o.UsePathStyle = o.BaseEndpoint != nil
			// Objects of older libraries have no checksum: no reason for a
			// line of the SDK's in the log for each.
			o.DisableLogOutputChecksumValidationSkipped = true
		})
	})
}

// queueClientOf is the same for SQS.
func queueClientOf(client *sqs.Client) func(context.Context) (*sqs.Client, error) {
	return whenNeeded(client, func(cfg aws.Config) *sqs.Client { return sqs.NewFromConfig(cfg) })
}

// whenNeeded returns what returns client, or else makes one; a configuration that
// could not be loaded is loaded again the next time.
func whenNeeded[C any](client *C, make func(aws.Config) *C) func(context.Context) (*C, error) {
	var mu sync.Mutex
	return func(ctx context.Context) (*C, error) {
		mu.Lock()
		defer mu.Unlock()
		if client != nil {
			return client, nil
		}
		cfg, err := loadConfig(ctx)
		if err == nil {
			client = make(cfg)
		}
		return client, err
	}
}

func loadConfig(ctx context.Context) (aws.Config, error) {
	var options []func(*config.LoadOptions) error
	if os.Getenv("AWS_LAMBDA_RUNTIME_API") != "" { // its credentials are in its environment
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
