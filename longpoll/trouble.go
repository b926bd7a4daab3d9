package longpoll

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
)

// Bounds of the time between tries while receiving fails.
const (
	firstDelay = 200 * time.Millisecond
	lastDelay  = 20 * time.Second
	// callTimeout ends a call that is not answered, long polls aside.
	callTimeout = 5 * time.Second
)

// trouble is the state of receiving: one line in the log tells that it fails,
// and one that it works again.
type trouble struct {
	until time.Time // when to try again
	timer *time.Timer
	last  string // error, kept for the status
	lastT time.Time
	line  line
}

func (t *trouble) stopTimer() {
	if t.timer != nil {
		t.timer.Stop()
	}
}

// failed notes a try that failed and returns how long to wait for the next.
// The caller holds the lock.
func (t *trouble) failed(p *Poller, what string, err error) time.Duration {
	now := time.Now()
	t.last, t.lastT = err.Error(), now
	if t.line.fails(now, true) {
		p.warn(batch.Warning{Err: err, Serious: t.line.serious(now), Message: fmt.Sprintf(
			"queue %s: %s%s: %s; trying again", p.cfg.Queue, what, t.line.soFar(now), advice(err))})
	}
	delay := min(firstDelay<<min(t.line.tries-1, 16), lastDelay)
	delay = delay/2 + rand.N(delay/2+1)
	t.until = now.Add(delay)
	return delay
}

// works notes a try that succeeded; the caller holds the lock.
func (t *trouble) works(p *Poller) {
	if tell, after := t.line.works(time.Now()); tell {
		p.warn(batch.Warning{Message: fmt.Sprintf("queue %s: receiving works again, %s", p.cfg.Queue, after)})
	}
}

// warn tells the hooks, from a goroutine of its own: the caller may hold the
// lock, a hook may ask for the poller's status, and nothing waits for one that blocks.
func (p *Poller) warn(w batch.Warning) {
	w.Queue = batch.QueueName(p.cfg.Queue)
	p.routines.hook(func() { p.engine.Hooks().Warn(context.WithoutCancel(p.base), w) })
}

// ConfigError is returned by [Poller.Run] when SQS says, before the first
// message could be received, what no further try can mend.
type ConfigError struct {
	Queue string
	Err   error
}

func (e *ConfigError) Error() string {
	if sqserror.Code(e.Err) == "" { // it says by itself what to do
		return fmt.Sprintf("longpoll: queue %s: %v", e.Queue, e.Err)
	}
	return fmt.Sprintf("longpoll: queue %s: %s: %v", e.Queue, advice(e.Err), e.Err)
}

// Unwrap returns SQS's error.
func (e *ConfigError) Unwrap() error { return e.Err }

// configError returns what of an error is a mistake in the configuration, or nil.
func configError(queue string, err error) *ConfigError {
	var c *ConfigError
	if errors.As(err, &c) {
		return c
	}
	switch sqserror.Of(err) {
	case sqserror.NoQueue, sqserror.InvalidAddress, sqserror.Denied, sqserror.KeyDenied, sqserror.Credentials,
		sqserror.Unsupported, sqserror.InvalidValue:
		return &ConfigError{Queue: queue, Err: err}
	}
	return nil
}

// advice says what to do about an error.
func advice(err error) string {
	switch sqserror.Of(err) {
	case sqserror.NoQueue, sqserror.InvalidAddress:
		return "there is no such queue: are its URL (Queue; with package handler: SQSBATCH_QUEUE_URL), region and account right?"
	case sqserror.Key, sqserror.KeyDenied:
		return "the queue's key cannot be used: is it enabled, and does it allow the role kms:Decrypt and kms:GenerateDataKey?"
	case sqserror.Denied:
		return "the role needs sqs:ReceiveMessage, sqs:DeleteMessage, sqs:ChangeMessageVisibility and sqs:GetQueueAttributes on the queue"
	case sqserror.Expired:
		return sqserror.SaysExpired
	case sqserror.Credentials:
		return sqserror.SaysCredentials
	case sqserror.Throttled:
		return sqserror.SaysThrottled
	case sqserror.None:
		if errors.Is(err, context.DeadlineExceeded) {
			return "no answer from SQS in time: is there a route to it?"
		}
		return sqserror.NoAnswer(err)
	default:
		return sqserror.SaysRefused
	}
}
