package settle

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/sleep"
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
)

// Know stores the URL of the records' queue, which has an ARN, and its attributes as returned by
// [Policy.QueueAttributes], so that SQS is not asked for them again soon. values is nil if they
// are not known. Call it before the policy has a settler.
func (p *Policy) Know(arn, url string, values map[string]string) {
	if p.arn, p.url = arn, url; values != nil {
		a, err := readAttributes(values)
		p.queues.keep(arn, a, err)
	}
}

// askTimeout is how long SQS is asked about a queue without an answer.
const askTimeout = 10 * time.Second

// learn returns when SQS has said what the attributes of a queue are, or when policyWait is over
// since the wait began, or a quarter of the time that was left then. It asks, unless there is a
// recent answer or another goroutine asks already. Call it without the owner's lock.
func (s *Settler) learn(arn string, began time.Time) {
	wait := policyWait
	if end, ok := s.ctx.Deadline(); ok {
		wait = min(wait, end.Sub(began)/4)
	}
	late := time.After(time.Until(began.Add(wait)))
	for s.asks.Err() == nil {
		ask, answered, err := s.queues.question(arn)
		if err != nil { // it was the answer to an earlier batch, and this one must warn of it as well
			s.owner.Do(func() { s.warnOf(opAttributes, arn, err) })
		}
		if answered == nil {
			return
		}
		if ask {
			s.ask(arn)
		}
		select {
		case <-answered:
		case <-late:
			return
		case <-s.asks.Done():
		}
	}
}

// policyWait is how long a backoff waits for the queue's maxReceiveCount. After that, 5 is
// used.
const policyWait = time.Second

// ask begins to ask for the attributes of a queue. That goes on if those who wait for them do not.
func (s *Settler) ask(arn string) {
	var err error
	s.aside(func() {
		ctx, cancel := context.WithTimeout(s.asks, askTimeout)
		defer cancel()
		var a attributes
		a, err = s.attributes(ctx, arn)
		s.queues.keep(arn, a, err)
	}, func() {
		if err != nil && !errors.Is(err, context.Canceled) {
			s.warnOf(opAttributes, arn, err)
		}
	})
}

// attributes asks SQS about a queue until it has answered.
func (s *Settler) attributes(ctx context.Context, arn string) (attributes, error) {
	q, err := s.queueAt(ctx, arn)
	if err != nil {
		return attributes{}, err
	}
	for failures := 1; ; failures++ {
		values, err := q.attributes(ctx, arn, s.owner.Called)
		if !sqserror.Passing(err) || !sleep.For(ctx, sleep.Backoff(failures, firstDelay, lastDelay)) {
			a, unreadable := readAttributes(values)
			return a, cmp.Or(err, unreadable)
		}
	}
}

// QueueAttributes asks SQS once for what this package and a poller need to know of the queue with
// a URL.
func (p *Policy) QueueAttributes(ctx context.Context, url string, called func(batch.Call)) (map[string]string, error) {
	q, err := p.queueAt(ctx, url)
	if err != nil {
		return nil, err
	}
	return q.attributes(ctx, "", called)
}

// attributes asks once. arn is for called; "" if it is not known.
func (q queue) attributes(ctx context.Context, arn string, called func(batch.Call)) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	c := batch.Call{Operation: string(opAttributes), QueueARN: arn, URL: q.url, Started: time.Now()}
	out, err := q.client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: &q.url,
		AttributeNames: []types.QueueAttributeName{
			types.QueueAttributeNameQueueArn, types.QueueAttributeNameRedrivePolicy,
			types.QueueAttributeNameMessageRetentionPeriod, types.QueueAttributeNameVisibilityTimeout,
		},
	}, q.options)
	c.Duration, c.Err = time.Since(c.Started), err
	if called(c); err != nil {
		return nil, err
	}
	return out.Attributes, nil
}

// whenKnown calls f, with the owner's lock, when the attributes of a queue are known, or after
// policyWait without them.
func (s *Settler) whenKnown(arn string, f func()) {
	if answered, err := s.queues.latest(arn); answered && err == nil && s.waiting[arn] == nil {
		f()
		return
	}
	s.waiting[arn] = append(s.waiting[arn], f)
	if len(s.waiting[arn]) > 1 {
		return // they go on together, and share calls
	}
	began := time.Now()
	s.aside(func() { s.learn(arn, began) }, func() {
		list := s.waiting[arn]
		delete(s.waiting, arn)
		for _, f := range list {
			f()
		}
	})
}
