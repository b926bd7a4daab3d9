package settle

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
	"github.com/sqsbatch/sqsbatch/partialfailure"
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

// LastAttempt reports whether SQS will move a record to the dead-letter queue instead of
// delivering it again, as far as the queue is known already. It returns false if last
// failures are not dead-lettered here (OnPermanent is Retry).
func (p *Policy) LastAttempt(r *batch.Record) bool {
	most, _ := p.maxReceiveCount(r.QueueARN)
	return most > 0 && r.Attempt >= most && p.cfg.OnPermanent != partialfailure.Retry
}
