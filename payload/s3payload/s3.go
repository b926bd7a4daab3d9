package s3payload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/s3body"
)

// errMissing is wrapped by the error of an object that does not exist.
var errMissing = errors.New("no such object")

// object is an object in S3. Its body must be closed.
type object struct {
	io.ReadCloser
	size int64 // -1 if unknown
}

// open starts to get the object of a pointer.
func (s *store) open(ctx context.Context, p s3body.Pointer) (o object, err error) {
	if s.err != nil {
		return o, s.err
	}
	if err := s.refused(p); err != nil {
		return o, batch.Permanent(err)
	}
	client, err := s.client(ctx)
	if err != nil {
		return o, err
	}
	out, err := client.GetObject(ctx, &s3.GetObjectInput{Bucket: &p.Bucket, Key: &p.Key})
	if err != nil {
		return o, getError(p, err)
	}
	o = object{out.Body, -1}
	if out.ContentLength != nil {
		o.size = *out.ContentLength
	}
	if err := s.check(p, o.size); err != nil {
		_ = o.Close()
		return object{}, err
	}
	return o, nil
}

// check compares an object's size, if it is known, with the limits.
func (s *store) check(p s3body.Pointer, size int64) error {
	switch {
	case size < 0:
		return nil
	case s.max > 0 && size > s.max:
		return batch.Permanent(fmt.Errorf("s3payload: the object in bucket %q has %d bytes, more than Config.MaxBytes (%d) allows", p.Bucket, size, s.max))
	case p.Size >= 0 && p.Size != size && !s.cfg.IgnoreSize:
		return batch.Permanent(fmt.Errorf("s3payload: the object in bucket %q has %d bytes, but %d by the message's attribute (Config.IgnoreSize)", p.Bucket, size, p.Size))
	}
	return nil
}

func (s *store) text(ctx context.Context, p s3body.Pointer) (string, error) {
	o, err := s.open(ctx, p)
	if err != nil {
		return "", err
	}
	defer o.Close()
	var b strings.Builder
	b.Grow(int(max(o.size, 0)))
	n, err := io.Copy(&b, io.LimitReader(o, max(s.max, s.max+1))) // one more byte, to see whether there is more
	if err != nil {
		return "", getError(p, err)
	}
	if o.size < 0 {
		if err := s.check(p, n); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

func (s *store) delete(ctx context.Context, p s3body.Pointer) error {
	client, err := s.client(ctx)
	if err != nil {
		return err
	}
	_, err = client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &p.Bucket, Key: &p.Key})
	return err
}

// getError turns an error of S3 into the record's error.
func getError(p s3body.Pointer, err error) error {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		switch api.ErrorCode() {
		case "NoSuchKey":
			return batch.Permanent(fmt.Errorf("s3payload: %w in S3, bucket %q: %w", errMissing, p.Bucket, err))
		case "NoSuchBucket": // not errMissing: the message may not have been handled before
			return batch.Permanent(fmt.Errorf("s3payload: no such bucket in S3, %q: %w", p.Bucket, err))
		}
	}
	return fmt.Errorf("s3payload: get the object from bucket %q: %w", p.Bucket, err)
}

// clientOf returns a function that returns client, or makes one at the first call, so that
// a program with small messages makes none. If the configuration could not be loaded, the next
// call tries again.
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
			client = s3.NewFromConfig(cfg, asUsual)
		}
		return client, err
	}
}

// asUsual is an option of s3.NewFromConfig.
func asUsual(o *s3.Options) {
	// LocalStack, MinIO and similar servers usually have no DNS names for buckets below
	// their own.
	o.UsePathStyle = o.BaseEndpoint != nil
	// Objects of older libraries have no checksum. The SDK would log a line for each.
	o.DisableLogOutputChecksumValidationSkipped = true
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
