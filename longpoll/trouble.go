package longpoll

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
)

// Bounds of the time between tries while receiving fails.
const (
	firstReceiveDelay = 200 * time.Millisecond
	lastReceiveDelay  = 20 * time.Second
	// requestTimeout ends a call that is not answered, long polls aside.
	requestTimeout = 5 * time.Second
)

// trouble is how calls fail.
type trouble struct {
	last      string // error, kept for the status
	lastT     time.Time
	receiving incident // and looking up the queue before it
	extending incident
	deleting  incident
	refused   bool // SQS refuses deletes: no further try soon will help
}

// failed notes that a try failed, and warns if a warning is due. what names the operation,
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
		p.warn(batch.Warning{Message: fmt.Sprintf("queue %s: %s works again, after %v and %d tries that failed",
			p.cfg.Queue, what, time.Since(i.since).Round(time.Millisecond), i.tries)})
	}
	*i = incident{at: i.at}
}

// failure is why a batch call failed for all entries; nil if SQS confirmed one of them, or
// says that a message is gone.
func failure(errs []error) error {
	for _, err := range errs {
		if err == nil || sqserror.Gone(err) {
			return nil
		}
	}
	return errs[0]
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
	// A call that cannot be made, and a key that is disabled, may work a moment later.
	switch kind := sqserror.Of(err); {
	case kind == sqserror.None, kind == sqserror.Key:
		return nil
	case kind == sqserror.InvalidValue, sqserror.Lasts(err):
		return &ConfigError{Queue: queue, Err: err}
	}
	return nil
}

// advice says what to do about an error.
func advice(err error) string {
	return sqserror.Advice(err, "sqs:ReceiveMessage, sqs:DeleteMessage, sqs:ChangeMessageVisibility and sqs:GetQueueAttributes",
		"the queue (Queue; with package handler: SQSBATCH_QUEUE_URL)")
}

// incident throttles warnings about something that fails again and again: one when it begins
// to fail, one when it works again. What flaps is reported once a minute, unless it fails
// for 5 s. What goes on failing is reported again after a minute, as serious, and every five
// minutes from then on.
type incident struct {
	since    time.Time // of failing; zero while it works
	tries    int       // that failed since
	at       time.Time // the latest warning that it fails
	reported bool      // the hooks know that it fails
}

const (
	quietFor     = time.Minute
	goesOn       = 5 * time.Second
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
		warn = now.Sub(i.at) >= quietFor || now.Sub(i.since) >= goesOn
	case i.serious(now):
		warn = i.at.Before(i.since.Add(seriousAfter)) || now.Sub(i.at) >= remindEvery
	}
	if warn {
		i.reported, i.at = true, now
	}
	return warn
}

// serious reports whether it has been failing for so long that someone should look.
func (i *incident) serious(now time.Time) bool { return now.Sub(i.since) >= seriousAfter }

// soFar says for how long it has been failing, once that is serious.
func (i *incident) soFar(now time.Time) string {
	if !i.serious(now) {
		return ""
	}
	return fmt.Sprintf(", for %v and %d tries by now", now.Sub(i.since).Round(time.Second), i.tries)
}

// delay is how long to wait for the next try.
func (i *incident) delay() time.Duration {
	d := min(firstReceiveDelay<<min(i.tries-1, 16), lastReceiveDelay)
	return d/2 + rand.N(d/2+1)
}
