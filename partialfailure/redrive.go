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
	redriveKept      = 5 * time.Minute
	redriveErrorKept = time.Minute
)

// redrive is what a queue's RedrivePolicy says, zero without one, for how long the
// queue keeps messages, and for how long it hides them. Times are 0 if SQS did not say.
type redrive struct {
	deadLetterARN   string
	maxReceiveCount int
	retention       time.Duration
	visibility      time.Duration
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
	last  *redrive  // what an earlier answer said, until this one says it; nil for nothing
	aged  bool      // a record near the end of its retention was warned of
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
	last := a.said()
	a = &redriveAnswer{ready: make(chan struct{}), last: last}
	c.answers[arn] = a
	return a, true
}

// kept reports whether an answer is still believed.
func (c *redriveCache) kept(a *redriveAnswer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Before(a.until)
}

// said returns what SQS said last, or nil. The caller holds the lock of the cache.
func (a *redriveAnswer) said() *redrive {
	switch {
	case a == nil:
		return nil
	case !a.until.IsZero() && a.err == nil:
		return &a.value
	}
	return a.last
}

// known returns the policy if SQS has answered already, however long ago.
func (c *redriveCache) known(arn string) (policy redrive, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if said := c.answers[arn].said(); said != nil {
		return *said, true
	}
	return redrive{}, false
}

func (c *redriveCache) resolve(arn string, a *redriveAnswer, value redrive, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a.value, a.err = value, err
	switch {
	case err == nil:
		a.until = time.Now().Add(redriveKept)
	case sqserror.Passing(err), errors.Is(err, errRefused):
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

// redriveAttributes are those of a queue that [Settler.Know] reads.
var redriveAttributes = []types.QueueAttributeName{
	types.QueueAttributeNameRedrivePolicy, types.QueueAttributeNameMessageRetentionPeriod, types.QueueAttributeNameVisibilityTimeout,
}

// Know takes the attributes of a queue with an ARN, as GetQueueAttributes answers, so
// that it is not asked for them again soon: RedrivePolicy, MessageRetentionPeriod and
// VisibilityTimeout, where they are there.
func (s *Settler) Know(arn string, attributes map[string]string) {
	value, err := readRedrive(attributes)
	if a, mine := s.redrive.claim(arn); mine {
		s.redrive.resolve(arn, a, value, err)
	}
}

func readRedrive(attributes map[string]string) (redrive, error) {
	r, err := parseRedrive(attributes["RedrivePolicy"])
	seconds := func(name string) time.Duration {
		n, err := strconv.Atoi(attributes[name])
		if err != nil || n < 0 {
			return 0
		}
		return time.Duration(n) * time.Second
	}
	r.retention, r.visibility = seconds("MessageRetentionPeriod"), seconds("VisibilityTimeout")
	return r, err
}

func (st *Settlement) askRedrive(arn string) (r redrive, _ error) {
	var policyErr error
	errs := st.call(opAttributes, arn, st.source(arn), 1, func(ctx context.Context, q queue, _ []int) (answer, error) {
		out, err := q.client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
			QueueUrl:       &q.url,
			AttributeNames: redriveAttributes,
		}, q.options...)
		if err != nil {
			return answer{}, err
		}
		r, policyErr = readRedrive(out.Attributes)
		return answer{ok: []string{"0"}}, nil
	})
	if policyErr != nil {
		st.refuse(opAttributes, st.source(arn), policyErr)
	}
	return r, cmp.Or(errs[0], policyErr)
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
		return redrive{}, fmt.Errorf("%w: %q: %w", errPolicy, policy, err)
	}
	n, _ := p.MaxReceiveCount.Int64()
	return redrive{deadLetterARN: p.DeadLetterTargetArn, maxReceiveCount: int(n)}, nil
}
