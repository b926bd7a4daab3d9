package settle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/sqsbatch/sqsbatch/internal/endpoint"
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
)

// sameQueue reports whether a URL or ARN names the queue with an ARN.
func sameQueue(arnOrURL, arn string) bool {
	if arnOrURL == arn {
		return true
	}
	a, err := endpoint.ParseARN(arn)
	u, urlErr := url.Parse(arnOrURL)
	if err != nil || urlErr != nil || u.Host == "" {
		return false
	}
	region := endpoint.Region(u.Hostname())
	return strings.Trim(u.Path, "/") == a.Account+"/"+a.Name && (region == "" || region == a.Region)
}

// queue is a queue that can be called.
type queue struct {
	client  *sqs.Client
	url     string
	options func(*sqs.Options)
}

// queueAt returns the queue with an ARN or a URL.
func (p *Policy) queueAt(ctx context.Context, arnOrURL string) (queue, error) {
	client, err := p.client(ctx)
	if err != nil {
		return queue{}, fmt.Errorf("%w: %w", errNoClient, err)
	}
	q := queue{client: client, url: strings.TrimSuffix(arnOrURL, "/")}
	region := ""
	if u, err := url.Parse(arnOrURL); err == nil && u.Host != "" {
		region = endpoint.Region(u.Hostname())
	} else {
		arn, err := endpoint.ParseARN(arnOrURL)
		if err != nil {
			return queue{}, fmt.Errorf("%w: %w", errNoARN, err)
		}
		if q.url, err = endpoint.QueueURL(ctx, client, arn); err != nil {
			return queue{}, err
		}
		region = arn.Region
	}
	q.options = func(o *sqs.Options) {
		sqserror.Once(o)
		o.Region = cmp.Or(region, o.Region)
	}
	return q, nil
}

// client asks the configuration for its client, which is the user's code.
func (p *Policy) client(ctx context.Context) (client *sqs.Client, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	defer func() {
		if v := recover(); v != nil {
			client, err = nil, fmt.Errorf("Config.Client panicked: %v", v)
		}
	}()
	client, err = p.cfg.Client(ctx)
	if err == nil && client == nil {
		err = errors.New("Config.Client returned nil")
	}
	return client, err
}

var (
	errNoClient          = errors.New("no SQS client")
	errNoARN             = errors.New("the records do not say their queue")
	errPolicy            = errors.New("the queue's RedrivePolicy cannot be read")
	errNoDeadLetterQueue = errors.New("the queue has no RedrivePolicy")
	errOwnQueue          = errors.New("the dead-letter queue is the queue itself")
)
