package longpoll

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/endpoint"
	"github.com/sqsbatch/sqsbatch/internal/sleep"
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
)

// queue is what is known of the queue.
type queue struct {
	url, arn, region string
	visibility       time.Duration // the queue's own
}

// begin looks the queue up, notifies the hooks that the polling begins, and has it begin.
func (p *Poller) begin(ctx context.Context) {
	if err := p.lookUp(ctx); err != nil {
		p.do(func() {
			if ctx.Err() == nil { // else it was stopped before it had begun
				p.fail(err)
			}
		})
		return
	}
	p.announce(ctx)
	p.do(func() {
		if p.phase == starting && ctx.Err() == nil {
			p.phase = polling
			p.settler = p.policy.NewSettler(p.flushing, owner{p}, settleTimeout)
			p.sweepOn()
		}
	})
}

// lookUp asks SQS for the queue, until it answers: only a refusal that no
// further try can mend, or the end of ctx, is an error.
func (p *Poller) lookUp(ctx context.Context) error {
	for {
		err := p.askQueue(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if c := configError(p.cfg.Queue, err); c != nil {
			return c
		}
		var delay time.Duration
		p.ask(func() {
			if ctx.Err() == nil { // else Run may have returned
				delay = p.trouble.failed(p, "the queue cannot be looked up", err)
			}
		})
		if !sleep.For(ctx, delay) {
			return ctx.Err()
		}
	}
}

// askQueue finds the queue's URL, ARN and visibility timeout. Without
// permission for GetQueueAttributes the ARN is taken from the URL.
func (p *Poller) askQueue(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	q := queue{visibility: defaultQueueVisibility, region: p.cfg.SQS.Options().Region}
	var err error
	if q.url, err = p.queueURL(ctx); err != nil {
		return err
	}
	attributes, err := p.queueAttributes(ctx, q.url)
	answered, denied := err == nil, sqserror.KindOf(sqserror.Code(err)) == sqserror.Denied
	if !answered && !(denied && (!p.cfg.NoHeartbeat || p.cfg.Visibility > 0)) {
		return err
	}
	q.arn = attributes["QueueArn"]
	if seconds, err := strconv.Atoi(attributes["VisibilityTimeout"]); err == nil {
		q.visibility = time.Duration(seconds) * time.Second
	}
	if part := strings.Split(q.arn, ":"); len(part) == 6 {
		q.region = part[3]
	} else if q.arn, err = arnOf(q.url, q.region); err != nil {
		return err
	}
	if err := p.use(q); err != nil || !answered {
		return err
	}
	p.policy.Know(q.arn, attributes)
	return nil
}

// queueURL makes a URL of Config.Queue, which may also be an ARN or a name.
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
		out, err := p.cfg.SQS.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &name}, sqserror.Once)
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

// queueAttributes returns the attributes that this package and the settler need.
func (p *Poller) queueAttributes(ctx context.Context, url string) (attributes map[string]string, err error) {
	err = p.observe("GetQueueAttributes", func(c *batch.Call) error {
		c.URL = url
		out, err := p.cfg.SQS.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: []types.QueueAttributeName{
			types.QueueAttributeNameQueueArn, types.QueueAttributeNameVisibilityTimeout,
			types.QueueAttributeNameRedrivePolicy, types.QueueAttributeNameMessageRetentionPeriod}}, sqserror.Once)
		if err == nil {
			attributes = out.Attributes
		}
		return err
	})
	return attributes, err
}

// defaultQueueVisibility is what SQS gives a queue for which nothing is set.
const defaultQueueVisibility = 30 * time.Second

// use takes a queue that was found.
func (p *Poller) use(q queue) error {
	if p.cfg.Visibility > 0 {
		q.visibility = p.cfg.Visibility
	}
	if err := p.checkVisibility(q.visibility); err != nil {
		return &ConfigError{Queue: p.cfg.Queue, Err: err}
	}
	p.queue = q
	return p.newPolicy(q.url)
}

// checkVisibility checks what New could not, without the queue's visibility timeout.
func (p *Poller) checkVisibility(visibility time.Duration) error {
	engine, most := p.cfg.Engine, visibility-noHeartbeatMargin(visibility)
	switch {
	case visibility < minVisibility:
		return fmt.Errorf("the queue's visibility timeout is %v: without heartbeats nothing can be handled in that; set it, or Visibility (with package handler: SQSBATCH_VISIBILITY), to at least %v",
			visibility, minVisibility)
	case p.cfg.NoHeartbeat && engine.RecordTimeout > visibility:
		return fmt.Errorf("Engine.RecordTimeout is %v, the visibility timeout %v: with NoHeartbeat a record cannot have more than that (with package handler: SQSBATCH_RECORD_TIMEOUT, SQSBATCH_HEARTBEAT)",
			engine.RecordTimeout, visibility)
	case p.cfg.NoHeartbeat && engine.MinRemaining >= most:
		return fmt.Errorf("Engine.MinRemaining is %v (with package handler: SQSBATCH_MIN_REMAINING): with NoHeartbeat nothing would ever be started, since a record must be done in %v, the visibility timeout less a margin",
			engine.MinRemaining, most)
	}
	return nil
}

// arnOf makes an ARN of a queue's URL, https://HOST/ACCOUNT/NAME.
func arnOf(queueURL, region string) (string, error) {
	u, err := url.Parse(queueURL)
	if err == nil {
		if part := strings.Split(strings.Trim(u.Path, "/"), "/"); len(part) >= 2 {
			return fmt.Sprintf("arn:%s:sqs:%s:%s:%s", endpoint.PartitionOf(region), region, part[len(part)-2], part[len(part)-1]), nil
		}
	}
	return "", &ConfigError{Queue: queueURL, Err: fmt.Errorf("%q is no queue's URL (https://HOST/ACCOUNT/NAME)", queueURL)}
}

// observe makes a call to SQS, and notifies the hooks of it.
func (p *Poller) observe(operation string, call func(*batch.Call) error) error {
	c := batch.Call{Operation: operation, QueueARN: p.queue.arn, URL: p.queue.url, Started: time.Now()}
	c.Err = call(&c)
	c.Duration = time.Since(c.Started)
	p.called(c)
	return c.Err
}

// announce notifies the hooks that the polling begins, and waits for them for at most
// a second, unless it is to stop.
func (p *Poller) announce(stopping context.Context) {
	ctx, cancel := context.WithTimeout(stopping, time.Second)
	p.notify(func() {
		defer cancel()
		p.notifyPolling()
	})
	<-ctx.Done()
	cancel()
}

func (p *Poller) notifyPolling() {
	if text := p.policy.Schedule(p.queue.arn); text != "" {
		p.warn(batch.Warning{Message: text, Info: true})
	}
	p.hooks.Polling(context.WithoutCancel(p.base), p.queue.arn, func() batch.Load {
		s := p.Status()
		return batch.Load{
			Slots: p.cfg.Engine.Concurrency, Running: s.Running, Waiting: s.Waiting, Undeleted: s.Undeleted,
			AbandonedRunning: s.AbandonedRunning, OldestSeconds: s.OldestSeconds,
			Lost: s.Counts.Lost, Repeated: s.Counts.Repeated, Ended: s.State == "stopped",
		}
	})
}
