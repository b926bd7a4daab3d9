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

// trouble is how receiving, or the look-up of the queue before it, fails.
type trouble struct {
	last     string // error, kept for the status
	lastT    time.Time
	incident incident
}

// failed notes a try that failed and returns how long to wait for the next.
func (t *trouble) failed(p *Poller, what string, err error) time.Duration {
	now := time.Now()
	t.last, t.lastT = err.Error(), now
	if t.incident.fails(now, true) {
		p.warn(batch.Warning{Err: err, Serious: t.incident.serious(now), Message: fmt.Sprintf(
			"queue %s: %s%s: %s; trying again", p.cfg.Queue, what, t.incident.soFar(now), advice(err))})
	}
	delay := min(firstDelay<<min(t.incident.tries-1, 16), lastDelay)
	return delay/2 + rand.N(delay/2+1)
}

// works notes a try that succeeded.
func (t *trouble) works(p *Poller) {
	if notify, after := t.incident.works(time.Now()); notify {
		p.warn(batch.Warning{Message: fmt.Sprintf("queue %s: receiving works again, %s", p.cfg.Queue, after)})
	}
}

// ConfigError is returned by [Poller.Run] when SQS refuses the first calls for a reason
// that no further try can fix.
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

// configError returns an error that is a mistake in the configuration, or nil.
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

// incident throttles warnings about something that fails again and again: one when it begins
// to fail, one when it works again. What flaps is reported once a minute. What goes on
// failing is always reported, every five minutes, as serious after the first minute.
type incident struct {
	since time.Time // of failing; zero while it works
	tries int       // that failed since
	at    time.Time // the latest warning that it fails
	open  bool      // the hooks know that it fails, and not yet that it works
}

const (
	quietFor     = time.Minute
	goesOn       = 5 * time.Second
	seriousAfter = time.Minute
	remindEvery  = 5 * time.Minute
)

// fails notes a try that failed, and reports whether to warn: early, or once it is
// serious.
func (i *incident) fails(now time.Time, early bool) (warn bool) {
	if i.since.IsZero() {
		i.since = now
	}
	i.tries++
	switch {
	case !i.open:
		warn = early && (now.Sub(i.at) >= quietFor || i.failingFor(now) >= goesOn) || i.serious(now)
	case i.serious(now):
		warn = i.at.Before(i.since.Add(seriousAfter)) || now.Sub(i.at) >= remindEvery
	}
	if warn {
		i.open, i.at = true, now
	}
	return warn
}

func (i *incident) failingFor(now time.Time) time.Duration {
	if i.since.IsZero() {
		return 0
	}
	return now.Sub(i.since)
}

// serious reports whether it has been failing for so long that someone should look.
func (i *incident) serious(now time.Time) bool { return i.failingFor(now) >= seriousAfter }

// soFar says for how long it has been failing, once that is serious.
func (i *incident) soFar(now time.Time) string {
	if !i.serious(now) {
		return ""
	}
	return fmt.Sprintf(", for %v and %d tries by now", i.failingFor(now).Round(time.Second), i.tries)
}

// works notes that it works, and reports whether the hooks are to know that, and after
// how long and how many tries.
func (i *incident) works(now time.Time) (notify bool, after string) {
	notify = i.open
	if notify {
		after = fmt.Sprintf("after %v and %d tries that failed", i.failingFor(now).Round(time.Millisecond), i.tries)
	}
	i.open, i.since, i.tries = false, time.Time{}, 0
	return notify, after
}
