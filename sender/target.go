package sender

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/internal/endpoint"
	"github.com/sqsbatch/sqsbatch/internal/sqscall"
)

// target is the sender's queue.
type target struct {
	client *sqs.Client
	name   string        // to look up; "" if the URL is configured
	lock   chan struct{} // full while the URL is looked up
	url    string
	region string
}

func newTarget(client *sqs.Client, queue string) (*target, error) {
	t := &target{client: client, lock: make(chan struct{}, 1)}
	queue = strings.TrimSuffix(queue, "/")
	if arn, err := endpoint.ParseARN(queue); err == nil {
		t.region = arn.Region
		t.url, err = endpoint.QueueURL(context.Background(), client, arn)
		return t, err
	}
	if u, err := url.Parse(queue); err == nil && u.Host != "" {
		t.url, t.region = queue, endpoint.Region(u.Hostname())
		return t, nil
	}
	t.name = queue
	return t, nil
}

// options sets the options of all calls.
func (t *target) options(o *sqs.Options) {
	sqscall.Once(o)
	o.Region = cmp.Or(t.region, o.Region)
}

// lookUp returns the URL of the queue. It looks a name up with GetQueueUrl, and keeps the URL.
// Concurrent callers wait for one look-up, up to timeout.
func (t *target) lookUp(ctx context.Context, timeout time.Duration) (string, error) {
	if t.name == "" {
		return t.url, nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	select {
	case t.lock <- struct{}{}:
		defer func() { <-t.lock }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if t.url != "" {
		return t.url, nil
	}
	out, err := t.client.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &t.name}, t.options)
	if err == nil && aws.ToString(out.QueueUrl) == "" {
		err = errors.New("the answer to GetQueueUrl has no URL")
	}
	if err != nil {
		return "", err
	}
	t.url = *out.QueueUrl
	return t.url, nil
}
