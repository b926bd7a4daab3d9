package partialfailure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// How long an answer about a queue's attributes is believed.
const (
	redriveKept      = 5 * time.Minute
	redriveErrorKept = time.Minute
)

// redrive is what a queue's RedrivePolicy says, zero without one, and for how
// long the queue keeps messages.
type redrive struct {
	deadLetterARN   string
	maxReceiveCount int
	retention       time.Duration // 0 if SQS did not say
}

// redriveCache remembers RedrivePolicies by queue ARN. A policy is asked for
// by one batch at a time.
type redriveCache struct {
	mu      sync.Mutex
	answers map[string]*redriveAnswer
}

type redriveAnswer struct {
	ready chan struct{}
	value redrive
	err   error
	until time.Time // zero until ready
	aged  bool      // a record near the end of its retention was told of
}

// claim returns the answer for a queue and whether the caller has to find it.
func (c *redriveCache) claim(arn string) (a *redriveAnswer, mine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a = c.answers[arn]
	if a != nil && (a.until.IsZero() || time.Now().Before(a.until)) {
		return a, false
	}
	if c.answers == nil {
		c.answers = make(map[string]*redriveAnswer)
	}
	a = &redriveAnswer{ready: make(chan struct{})}
	c.answers[arn] = a
	return a, true
}

// kept reports whether an answer is still believed.
func (c *redriveCache) kept(a *redriveAnswer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Before(a.until)
}

// known returns the policy if there is an answer already.
func (c *redriveCache) known(arn string) redrive {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a := c.answers[arn]; a != nil && !a.until.IsZero() {
		return a.value // zero if it could not be had
	}
	return redrive{}
}

func (c *redriveCache) resolve(arn string, a *redriveAnswer, value redrive, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a.value, a.err = value, err
	switch {
	case err == nil:
		a.until = time.Now().Add(redriveKept)
	case errors.Is(err, errRefused), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		a.until = time.Now() // SQS was not asked, or did not answer this batch; the next one asks again
	default:
		a.until = time.Now().Add(redriveErrorKept)
	}
	close(a.ready)
}

// redriveOf returns the RedrivePolicy of a queue, asking SQS if need be.
func (st *Settlement) redriveOf(arn string) (redrive, error) {
	for {
		a, mine := st.redrive.claim(arn)
		if mine {
			value, err := st.askRedrive(arn)
			st.redrive.resolve(arn, a, value, err)
			return value, err
		}
		select {
		case <-a.ready:
		case <-st.ctx.Done():
			return redrive{}, st.ctx.Err()
		}
		if a.err == nil {
			return a.value, nil
		}
		if st.redrive.kept(a) { // an answer of SQS to an earlier batch, which this one must tell of as well
			// Told, but it stops nothing: what was unreachable then may not be now.
			st.note(opAttributes, arn, a.err)
			return redrive{}, a.err
		}
		// Another batch asked and had no time for the answer: this one asks itself.
	}
}

func (st *Settlement) askRedrive(arn string) (r redrive, _ error) {
	errs := st.call(opAttributes, arn, st.source(arn), 1, func(ctx context.Context, q queue, _ []int) (answer, error) {
		out, err := q.client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
			QueueUrl:       &q.url,
			AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameRedrivePolicy, types.QueueAttributeNameMessageRetentionPeriod},
		}, q.options...)
		if err != nil {
			return answer{}, err
		}
		r, err = parseRedrive(out.Attributes["RedrivePolicy"])
		if seconds, e := strconv.Atoi(out.Attributes["MessageRetentionPeriod"]); e == nil && seconds > 0 {
			r.retention = time.Duration(seconds) * time.Second
		}
		return answer{ok: []string{"0"}}, err
	})
	return r, errs[0]
}

func parseRedrive(policy string) (redrive, error) {
	if policy == "" {
		return redrive{}, nil
	}
	var p struct {
		DeadLetterTargetArn string
		MaxReceiveCount     json.Number // SQS writes a number, older policies have a string
	}
	if err := json.Unmarshal([]byte(policy), &p); err != nil {
		return redrive{}, fmt.Errorf("RedrivePolicy %q: %w", policy, err)
	}
	n, _ := p.MaxReceiveCount.Int64()
	return redrive{deadLetterARN: p.DeadLetterTargetArn, maxReceiveCount: int(n)}, nil
}
