package settle

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/endpoint"
	"github.com/sqsbatch/sqsbatch/internal/hooks"
	"github.com/sqsbatch/sqsbatch/internal/sqscall"
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
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

// How long an answer about a queue's attributes is used.
const (
	attributesKept = 5 * time.Minute
	errorKept      = time.Minute
)

// attributes are the queue attributes that settling needs: its RedrivePolicy (zero if it
// has none), how long it keeps messages, and how long it hides them. Times are 0 if SQS did
// not return them.
type attributes struct {
	deadLetterARN   string
	maxReceiveCount int
	retention       time.Duration
	visibility      time.Duration
}

// queueCache remembers attributes by queue ARN.
type queueCache struct {
	mu   sync.Mutex
	list map[string]*queueState
}

// queueState is what is known of a queue. The cache's lock guards it.
type queueState struct {
	asking chan struct{} // closed when there is an answer; nil where no call is under way
	last   *attributes   // what SQS said last, however long ago; nil for nothing
	err    error         // of the latest answer
	until  time.Time     // when the latest answer is no longer believed
}

// of returns the state of the queue arn. The caller holds the lock.
func (c *queueCache) of(arn string) *queueState {
	q := c.list[arn]
	if q == nil {
		q = &queueState{}
		c.list[arn] = q
	}
	return q
}

// known returns what SQS has said already, however long ago.
func (c *queueCache) known(arn string) (a attributes, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if q := c.of(arn); q.last != nil {
		return *q.last, true
	}
	return a, false
}

// latest reports whether SQS has answered lately, and the error of that answer.
func (c *queueCache) latest(arn string) (answered bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.of(arn)
	return time.Now().Before(q.until), q.err
}

// question reports whether the caller must ask SQS about a queue. answered is closed when
// there is an answer. It is nil if there is a recent answer; err is then that answer's
// error.
func (c *queueCache) question(arn string) (ask bool, answered chan struct{}, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.of(arn)
	switch {
	case time.Now().Before(q.until):
		return false, nil, q.err
	case q.asking != nil: // another batch does
		return false, q.asking, nil
	}
	q.asking = make(chan struct{})
	return true, q.asking, nil
}

// keep stores an answer. It does not store an error without an answer of SQS, so that the
// next batch asks again.
func (c *queueCache) keep(arn string, a attributes, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	q, kept := c.of(arn), attributesKept
	q.err = err
	switch {
	case err == nil:
		q.last = &a
	case sqserror.Passing(err):
		kept = 0
	default:
		kept = errorKept
	}
	q.until = time.Now().Add(kept)
	if q.asking != nil {
		close(q.asking)
		q.asking = nil
	}
}

func readAttributes(values map[string]string) (a attributes, err error) {
	seconds := func(name string) time.Duration {
		n, _ := strconv.Atoi(values[name])
		return time.Duration(n) * time.Second
	}
	a.retention, a.visibility = seconds("MessageRetentionPeriod"), seconds("VisibilityTimeout")
	text := cmp.Or(values["RedrivePolicy"], "{}")
	var policy struct {
		DeadLetterTargetArn string
		MaxReceiveCount     json.Number // SQS writes a number, older policies have a string
	}
	if err := json.Unmarshal([]byte(text), &policy); err != nil {
		return a, fmt.Errorf("%w: %q: %w", errPolicy, text, err)
	}
	n, _ := policy.MaxReceiveCount.Int64()
	a.deadLetterARN, a.maxReceiveCount = policy.DeadLetterTargetArn, int(n)
	return a, nil
}

// maxReceiveCount returns the queue's limit, 0 without a RedrivePolicy, and whether it is known.
func (p *Policy) maxReceiveCount(arn string) (most int, known bool) {
	if p.cfg.MaxReceiveCount > 0 {
		return p.cfg.MaxReceiveCount, true
	}
	a, known := p.queues.known(arn)
	return a.maxReceiveCount, known
}

// LastAttempt reports whether SQS will move a record to the dead-letter queue instead of
// delivering it again, as far as the queue is known already. It returns false if last
// failures are not dead-lettered here (OnPermanent is Retry).
func (p *Policy) LastAttempt(r *batch.Record) bool {
	most, _ := p.maxReceiveCount(r.QueueARN)
	return most > 0 && r.Attempt >= most && p.cfg.OnPermanent != partialfailure.Retry
}
