package settle

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/sleep"
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
)

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

// of returns a queue's. The caller holds the lock.
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

// maxReceiveCount is a queue's, 0 without a RedrivePolicy, and whether it is known.
func (p *Policy) maxReceiveCount(arn string) (most int, known bool) {
	if p.cfg.MaxReceiveCount > 0 {
		return p.cfg.MaxReceiveCount, true
	}
	a, known := p.queues.known(arn)
	return a.maxReceiveCount, known
}
