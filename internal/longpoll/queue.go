package longpoll

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/endpoint"
	"github.com/sqsbatch/sqsbatch/internal/settle"
	"github.com/sqsbatch/sqsbatch/internal/sleep"
	"github.com/sqsbatch/sqsbatch/internal/sqscall"
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
)

// queue is what the poller knows of the queue.
type queue struct {
	url, arn, region string
	visibility       time.Duration // of the records that this poller holds
}

// startPolling looks the queue up, notifies the hooks that polling begins, and starts polling. It
// does not if ctx ends before, because the poller was stopped.
func (p *Poller) startPolling(ctx context.Context) {
	err := p.lookUp(ctx)
	if err == nil {
		p.announce(ctx)
	}
	p.do(func() {
		switch {
		case p.phase != starting:
		case err != nil:
			p.fail(err)
		default:
			p.phase = polling
			p.settler = p.policy.NewSettler(p.flushing, settle.Callbacks{
				Do: p.do, Called: p.called, Warn: p.warn, Deleted: p.deleted,
				Settled: p.settled,
			})
		}
	})
}

// lookUp asks SQS for the queue until SQS answers. It returns an error only if ctx ends, or
// if SQS refuses for a reason that no retry can fix.
func (p *Poller) lookUp(ctx context.Context) error {
	for {
		err := p.askQueue(ctx)
		if err == nil {
			return nil
		}
		if c := configError(p.cfg.Queue, err); c != nil {
			return c
		}
		var delay time.Duration
		p.do(func() {
			p.failed(&p.trouble.receiving, false, "the queue cannot be looked up", err, "trying again")
			delay = p.trouble.receiving.delay()
		})
		if !sleep.For(ctx, delay) {
			return ctx.Err()
		}
	}
}

// askQueue finds the queue's URL, ARN and visibility timeout. Without permission for
// GetQueueAttributes it derives the ARN from the URL.
func (p *Poller) askQueue(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	q := queue{visibility: p.cfg.Visibility, region: p.cfg.SQS.Options().Region}
	var err error
	if q.url, err = p.queueURL(ctx); err != nil {
		return err
	}
	attributes, err := p.policy.QueueAttributes(ctx, q.url, p.called)
	if err != nil && sqserror.Of(err) != sqserror.Denied {
		return err
	}
	q.arn = attributes["QueueArn"]
	if part := strings.Split(q.arn, ":"); len(part) == 6 {
		q.region = part[3]
	} else if q.arn, err = arnOf(q.url, q.region); err != nil {
		return err
	}
	p.do(func() { p.queue = q })
	p.policy.Know(q.arn, q.url, attributes)
	return nil
}

// queueURL returns the URL of Config.Queue, which may also be an ARN or a name.
func (p *Poller) queueURL(ctx context.Context) (string, error) {
	name := p.cfg.Queue
	if arn, err := endpoint.ParseARN(name); err == nil {
		url, err := endpoint.QueueURL(ctx, p.cfg.SQS, arn)
		return strings.TrimSuffix(url, "/"), err
	}
	if strings.Contains(name, "://") {
		return strings.TrimSuffix(name, "/"), nil
	}
	var url string
	err := p.observe("GetQueueUrl", func(c *batch.Call) error {
		c.URL = name
		out, err := p.cfg.SQS.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &name}, sqscall.Once)
		if err == nil {
			url = strings.TrimSuffix(aws.ToString(out.QueueUrl), "/")
		}
		return err
	})
	if err == nil && url == "" {
		err = errors.New("the answer to GetQueueUrl has no URL")
	}
	return url, err
}

// arnOf derives an ARN from a queue's URL, https://HOST/ACCOUNT/NAME.
func arnOf(queueURL, region string) (string, error) {
	u, err := url.Parse(queueURL)
	if err == nil {
		if part := strings.Split(strings.Trim(u.Path, "/"), "/"); len(part) >= 2 {
			return fmt.Sprintf("arn:%s:sqs:%s:%s:%s", endpoint.PartitionOf(region), region, part[len(part)-2], part[len(part)-1]), nil
		}
	}
	return "", &ConfigError{Queue: queueURL, Err: fmt.Errorf("%q is not a queue's URL (https://HOST/ACCOUNT/NAME)", queueURL)}
}

// announce notifies the hooks that polling begins. It waits for them for at most a second,
// and not after a stop.
func (p *Poller) announce(ctx context.Context) {
	if text := p.policy.Schedule(p.queue.arn); text != "" {
		p.warn(batch.Warning{Message: text, Info: true})
	}
	p.notices.Notify(func() { p.hooks.Polling(context.WithoutCancel(p.base), p.queue.arn, p.Status) })
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	sleep.Closed(ctx, p.notices.Last())
}
