package partialfailure

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
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
)

// How long an answer about a queue's attributes is believed.
const (
	attributesKept = 5 * time.Minute
	errorKept      = time.Minute
)

// attributes are those of a queue that settling needs: its RedrivePolicy, zero
// without one, for how long it keeps messages, and for how long it hides them. Times
// are 0 if SQS did not say.
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

// queueState is what is known of a queue. The cache's lock guards what is no channel.
type queueState struct {
	asking chan struct{} // the token of the one batch that asks SQS
	last   *attributes   // what SQS said last, however long ago; nil for nothing
	err    error         // of the latest answer
	until  time.Time     // when the latest answer is no longer believed
	aged   bool          // a record near the end of its retention was warned of since
}

// of returns a queue's. The caller holds the lock.
func (c *queueCache) of(arn string) *queueState {
	q := c.list[arn]
	if q == nil {
		if c.list == nil {
			c.list = make(map[string]*queueState, 1)
		}
		q = &queueState{asking: make(chan struct{}, 1)}
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

// keep takes an answer. An error that says that SQS was not asked, or did not answer,
// is not kept: the next batch asks again.
func (c *queueCache) keep(arn string, a attributes, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	q, kept := c.of(arn), attributesKept
	q.err, q.aged = err, false
	switch {
	case err == nil:
		q.last = &a
	case sqserror.Passing(err), errors.Is(err, errRefused):
		kept = 0
	default:
		kept = errorKept
	}
	q.until = time.Now().Add(kept)
}

// attributesOf returns the attributes of a queue, asking SQS if need be. One batch at
// a time asks, and the others wait for its answer.
func (st *Settlement) attributesOf(arn string) (attributes, error) {
	st.queues.mu.Lock()
	q := st.queues.of(arn)
	st.queues.mu.Unlock()
	select {
	case q.asking <- struct{}{}:
		defer func() { <-q.asking }()
	case <-st.ctx.Done():
		return attributes{}, st.ctx.Err()
	}
	st.queues.mu.Lock()
	last, err, believed := q.last, q.err, time.Now().Before(q.until)
	st.queues.mu.Unlock()
	switch {
	case !believed:
		a, err := st.askAttributes(arn)
		st.queues.keep(arn, a, err)
		return a, err
	case err != nil:
		// It was the answer to an earlier batch, and this one must tell of it as well. It
		// stops nothing: what was unreachable then may not be now.
		st.note(opAttributes, arn, err)
		return attributes{}, err
	}
	return *last, nil
}

// Know takes the attributes of a queue with an ARN, as GetQueueAttributes answers, so
// that it is not asked for them again soon: RedrivePolicy, MessageRetentionPeriod and
// VisibilityTimeout, where they are there.
func (s *Settler) Know(arn string, values map[string]string) {
	a, err := readAttributes(values)
	s.queues.keep(arn, a, err)
}

func (st *Settlement) askAttributes(arn string) (a attributes, _ error) {
	var unreadable error
	errs := st.call(opAttributes, arn, "", 1, func(ctx context.Context, q queue, _ []int) ([]*string, []types.BatchResultErrorEntry, error) {
		out, err := q.client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
			QueueUrl: &q.url,
			AttributeNames: []types.QueueAttributeName{
				types.QueueAttributeNameRedrivePolicy, types.QueueAttributeNameMessageRetentionPeriod, types.QueueAttributeNameVisibilityTimeout,
			},
		}, q.options...)
		if err != nil {
			return nil, nil, err
		}
		a, unreadable = readAttributes(out.Attributes)
		return []*string{idOf(0)}, nil, nil
	})
	if unreadable != nil {
		st.refuse(opAttributes, arn, unreadable)
	}
	return a, cmp.Or(errs[0], unreadable)
}

func readAttributes(values map[string]string) (a attributes, err error) {
	seconds := func(name string) time.Duration {
		n, err := strconv.Atoi(values[name])
		if err != nil || n < 0 {
			return 0
		}
		return time.Duration(n) * time.Second
	}
	a.retention, a.visibility = seconds("MessageRetentionPeriod"), seconds("VisibilityTimeout")
	text := values["RedrivePolicy"]
	if text == "" {
		return a, nil
	}
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

// askPolicy asks the queue when the last attempt is, once in a batch and only where
// that is not configured. The caller holds the lock.
func (st *Settlement) askPolicy(arn string) {
	if st.cfg.MaxReceiveCount > 0 || st.asked[arn] != nil {
		return
	}
	answered := make(chan struct{})
	st.asked[arn] = answered
	st.background(func() {
		defer close(answered)
		_, _ = st.attributesOf(arn)
	})
}

// policyWait bounds the time for which a backoff waits for the queue to say its
// maxReceiveCount, which then counts as 5.
const policyWait = time.Second

// awaitPolicy waits for the answer about a queue, if it was asked, for policyWait or a
// quarter of the time that is left.
func (st *Settlement) awaitPolicy(arn string) {
	st.mu.Lock()
	answered := st.asked[arn]
	st.mu.Unlock()
	if answered == nil {
		return
	}
	wait := policyWait
	if by, bounded := st.ctx.Deadline(); bounded {
		wait = min(wait, time.Until(by)/4)
	}
	select {
	case <-answered:
	case <-time.After(wait):
	case <-st.ctx.Done():
	}
}

// maxReceiveCount is a queue's, 0 without a RedrivePolicy, and whether it is known.
func (s *Settler) maxReceiveCount(arn string) (most int, known bool) {
	if s.cfg.MaxReceiveCount > 0 {
		return s.cfg.MaxReceiveCount, true
	}
	a, known := s.queues.known(arn)
	return a.maxReceiveCount, known
}
