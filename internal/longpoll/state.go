package longpoll

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/sleep"
)

// phase is the current part of a Poller's life cycle.
type phase int

const (
	created phase = iota
	starting
	polling
	draining  // running handlers may go on until DrainLimit is over
	canceling // running handlers were cancelled and have Engine.Grace to return
	settling  // no handler runs any more; the settler makes its last calls
	stopped
)

// What the poller does depends on its phase, a pause, an abort, and on deletes that fail:
//
//	                     starts, receives   releases waiting        ends open receives
//	polling              yes                no                      no
//	paused               no                 yes                     yes
//	aborted              no                 yes                     no
//	too many undeleted   no                 no                      no
//	deletes refused      no                 yes                     no
//	stopping             no                 yes                     yes

// mayStart reports whether records may be started, and received.
func (p *Poller) mayStart(now time.Time) bool {
	return p.phase == polling && !p.pausing && !p.aborts.on(now) && !p.deletesHold()
}

// mustRelease reports whether waiting records must go back to SQS.
func (p *Poller) mustRelease(now time.Time) bool {
	return p.endsReceives() || p.aborts.on(now) || p.trouble.refused && p.deletesHold()
}

// endsReceives reports whether receiving has ended, because of a stop or until Resume.
func (p *Poller) endsReceives() bool { return p.phase != polling || p.pausing }

// startOrPause sets how many records, or FIFO groups, the runner may run.
func (p *Poller) startOrPause(now time.Time) {
	switch {
	case !p.mayStart(now):
		p.runner.Pause()
	case p.aborts.trial(now):
		p.runner.Resume(1)
	default:
		p.runner.Resume(p.most)
	}
}

// Limits of the messages that are handled and wait for their deletion, in addition to the
// number of slots. Above them nothing is received or started, since records that cannot be
// deleted are handled again.
const (
	maxDeleting    = 400 // while deletes work; more than fit into the settler's open calls
	maxUndeletable = 100 // while deletes fail
)

// deletesHold reports whether receiving and starting must wait because of records that
// could not be deleted.
func (p *Poller) deletesHold() bool {
	switch t, slots := &p.trouble, p.most; {
	case t.refused:
		return p.undeleted > 0
	case t.deleting.tries > 0:
		return p.undeleted >= maxUndeletable+slots
	default:
		return p.undeleted >= maxDeleting+slots
	}
}

// aborts is the state that handlers set with [batch.Abort]: nothing is received or started
// until a time. After it, one record at a time is tried, until a trial succeeds or fails
// without another abort. If the dependency is still down, a trial costs one record a
// delivery, instead of as many records as there are slots.
type aborts struct {
	until, trialUntil time.Time
	why               error // the error of records that are not started until then
}

func (a *aborts) on(now time.Time) bool { return now.Before(a.until) }

func (a *aborts) trial(now time.Time) bool { return now.Before(a.trialUntil) && !a.on(now) }

// reason returns the error of a record that is not started now.
func (a *aborts) reason(now time.Time) error {
	if a.on(now) {
		return a.why
	}
	return batch.ErrStopped
}

// do calls f with the lock, and makes a step. It wakes the loop only when the poller has stopped.
// It does nothing after Run has returned.
func (p *Poller) do(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.over:
		return
	default:
	}
	if f(); p.phase != created && p.step() {
		sleep.Wake(p.changed)
	}
}

// call calls f on a goroutine of its own, and what f returns with the lock.
func (p *Poller) call(f func() func()) {
	p.callsOpen++
	go func() {
		took := f()
		p.do(func() {
			p.callsOpen--
			took()
		})
	}()
}

// observe makes a call to SQS and notifies the hooks of it.
func (p *Poller) observe(operation string, call func(*batch.Call) error) error {
	c := batch.Call{Operation: operation, QueueARN: p.queue.arn, URL: p.queue.url, Started: time.Now()}
	c.Err = call(&c)
	c.Duration = time.Since(c.Started)
	p.called(c)
	return c.Err
}

// called passes a call to the hooks.
func (p *Poller) called(c batch.Call) {
	if p.hooks.Calls {
		p.notices.Notify(func() { p.hooks.Called(context.WithoutCancel(p.base), c) })
	}
}

// warn passes a warning to the hooks.
func (p *Poller) warn(w batch.Warning) {
	w.Queue = batch.QueueName(p.cfg.Queue)
	p.notices.Notify(func() { p.hooks.Warn(context.WithoutCancel(p.base), w) })
}

// fail ends Run with an error.
func (p *Poller) fail(err error) { p.fatal = cmp.Or(p.fatal, err) }

func (p *Poller) fifo() bool { return isFIFO(p.queue.arn) }

// isFIFO looks at the name in a queue's name, ARN or URL.
func isFIFO(queue string) bool { return strings.HasSuffix(strings.TrimSuffix(queue, "/"), ".fifo") }
