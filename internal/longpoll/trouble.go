package longpoll

import (
	"errors"
	"fmt"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/sleep"
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
)

// Limits of the time between tries while receiving fails.
const (
	firstReceiveDelay = 200 * time.Millisecond
	lastReceiveDelay  = 20 * time.Second
	// requestTimeout is how long a call may take, except for a long poll.
	requestTimeout = 5 * time.Second
)

// trouble is the state of calls that fail.
type trouble struct {
	last      string // latest error, for the status
	lastT     time.Time
	receiving incident // also for looking up the queue
	extending incident
	deleting  incident
	refused   bool // SQS refuses deletes: a retry soon will not help
}

// failed notes that a try failed, and warns if a warning is due. what names the operation;
// consequence says what its failure means.
func (p *Poller) failed(i *incident, serious bool, what string, err error, consequence string) {
	now := time.Now()
	p.trouble.last, p.trouble.lastT = err.Error(), now
	if i.fails(now) {
		p.warn(batch.Warning{Err: err, Serious: serious || i.serious(now), Message: fmt.Sprintf(
			"queue %s: %s%s: %s; %s", p.cfg.Queue, what, i.soFar(now), advice(err), consequence)})
	}
}

// works notes that a try succeeded. what names the operation.
func (p *Poller) works(i *incident, what string) {
	if i.reported {
		p.warn(batch.Warning{Message: fmt.Sprintf("queue %s: %s works again, after %v and %d failed tries",
			p.cfg.Queue, what, time.Since(i.since).Round(time.Millisecond), i.tries)})
	}
	*i = incident{at: i.at}
}

// failure returns the error of a batch call that failed for all entries. It returns nil if
// SQS confirmed an entry or says that a message is gone.
func failure(errs []error) error {
	for _, err := range errs {
		if err == nil || sqserror.Gone(err) {
			return nil
		}
	}
	return errs[0]
}

// ConfigError is returned by [Poller.Run] when SQS refuses the first calls for a reason
// that no retry can fix, such as a queue that does not exist or a missing permission.
type ConfigError struct {
	Queue string
	Err   error
}

func (e *ConfigError) Error() string {
	if sqserror.Code(e.Err) == "" { // the SDK's or our own error already says what to do
		return fmt.Sprintf("handler: queue %s: %v", e.Queue, e.Err)
	}
	return fmt.Sprintf("handler: queue %s: %s: %v", e.Queue, advice(e.Err), e.Err)
}

// Unwrap returns SQS's error.
func (e *ConfigError) Unwrap() error { return e.Err }

// configError returns an error that is a mistake in the configuration, or nil.
func configError(queue string, err error) *ConfigError {
	var c *ConfigError
	if errors.As(err, &c) {
		return c
	}
	// A call that cannot be made, or a key that is disabled, may work a moment later.
	switch kind := sqserror.Of(err); {
	case kind == sqserror.None, kind == sqserror.Key:
		return nil
	case kind == sqserror.InvalidValue, sqserror.Lasts(err):
		return &ConfigError{Queue: queue, Err: err}
	}
	return nil
}

// advice returns what to do about an error.
func advice(err error) string {
	return sqserror.Advice(err, "sqs:ReceiveMessage, sqs:DeleteMessage, sqs:ChangeMessageVisibility and sqs:GetQueueAttributes",
		"the queue (Queue; with package handler: SQSBATCH_QUEUE_URL)")
}

// incident throttles warnings about a failure that repeats: one when it starts, one when it
// ends. A failure that comes and goes is reported once a minute, unless it lasts for 5 s. A
// failure that lasts is reported again after a minute, as serious, and then every five
// minutes.
type incident struct {
	since    time.Time // when it began to fail; zero while it works
	tries    int       // tries that failed since then
	at       time.Time // when the latest warning was given
	reported bool      // the hooks know that it fails
}

const (
	quietFor     = time.Minute
	lasting      = 5 * time.Second
	seriousAfter = time.Minute
	remindEvery  = 5 * time.Minute
)

// fails notes a try that failed, and reports whether to warn.
func (i *incident) fails(now time.Time) (warn bool) {
	if i.tries == 0 {
		i.since = now
	}
	i.tries++
	switch {
	case !i.reported:
		warn = now.Sub(i.at) >= quietFor || now.Sub(i.since) >= lasting
	case i.serious(now):
		warn = i.at.Before(i.since.Add(seriousAfter)) || now.Sub(i.at) >= remindEvery
	}
	if warn {
		i.reported, i.at = true, now
	}
	return warn
}

// serious reports whether it has failed for so long that an operator should look.
func (i *incident) serious(now time.Time) bool { return now.Sub(i.since) >= seriousAfter }

// soFar returns for how long it has failed, once that is serious.
func (i *incident) soFar(now time.Time) string {
	if !i.serious(now) {
		return ""
	}
	return fmt.Sprintf(", for %v and %d tries so far", now.Sub(i.since).Round(time.Second), i.tries)
}

// delay returns how long to wait before the next try.
func (i *incident) delay() time.Duration {
	return sleep.Backoff(i.tries, firstReceiveDelay, lastReceiveDelay)
}
