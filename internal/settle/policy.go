package settle

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/endpoint"
	"github.com/sqsbatch/sqsbatch/internal/hooks"
	"github.com/sqsbatch/sqsbatch/internal/sqscall"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// Config configures how records are settled.
type Config struct {
	partialfailure.Config

	// Client returns the SQS client. It is called when the first call to SQS is needed, and
	// should then return the same client every time.
	Client func(context.Context) (*sqs.Client, error)

	// DeleteIfOthersFail deletes the finished records of a batch if others are not
	// finished. It is for event source mappings without ReportBatchItemFailures. The
	// function must fail there to keep the failed records, and without this would keep
	// those that succeeded as well. Defaults to false: Lambda deletes the records that are
	// not reported.
	DeleteIfOthersFail bool

	// Hooks are notified of a batch's calls, and get its warnings. Defaults to none.
	Hooks *hooks.Set
}

// Policy has the rules for failures, and what is known of their queues. It serves a
// process, and is safe for concurrent use.
type Policy struct {
	cfg      Config
	arn, url string // of the records' queue, from Know; otherwise its URL is derived from its ARN
	queues   queueCache
	schedule schedule
	aged     atomic.Int64 // when it was last warned of a record's age, in Unix nanoseconds
}

// DefaultOutage is the Outage of a configuration that has neither Outage nor Backoff.
const DefaultOutage = 15 * time.Minute

// New returns a Policy.
func New(cfg Config) *Policy {
	if cfg.Outage == 0 && cfg.Backoff == nil {
		cfg.Outage = DefaultOutage
	}
	cfg.OnPermanent = cmp.Or(cfg.OnPermanent, partialfailure.DeadLetter)
	cfg.Hooks = cmp.Or(cfg.Hooks, &hooks.Set{})
	return &Policy{cfg: cfg, queues: queueCache{list: map[string]*queueState{}}, schedule: schedule{outage: cfg.Outage}}
}

// onPermanent returns the rule for a record with a verdict.
func (p *Policy) onPermanent(v batch.Verdict) partialfailure.OnPermanent {
	if v.Permanent {
		return p.cfg.OnPermanent
	}
	return partialfailure.Retry
}

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
	client, err := p.Client(ctx)
	if err != nil {
		return queue{}, fmt.Errorf("%w: %w", errNoClient, err)
	}
	if arnOrURL == p.arn {
		arnOrURL = p.url
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
		sqscall.Once(o)
		o.Region = cmp.Or(region, o.Region)
	}
	return q, nil
}

// Client is Config.Client. Handlers find the Policy by ctxkey.Client.
func (p *Policy) Client(ctx context.Context) (*sqs.Client, error) { return p.cfg.Client(ctx) }
