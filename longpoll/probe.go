package longpoll

import (
	"errors"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

// maxProbe bounds for how long one record is tried alone: one that takes its time
// does not say that anything is down.
const maxProbe = 10 * time.Second

// probing reports whether one record at a time is received and started: after an
// abort, until one has ended otherwise. If what handlers need is still down, that
// costs one record a delivery, instead of as many as there are slots.
func (p *Poller) probing(now time.Time) bool {
	return now.Before(p.probeUntil) && !p.aborted(now)
}

// probeFor has an abort be followed by a probe. The caller holds the lock.
func (p *Poller) probeFor(longest time.Duration) {
	p.probeUntil = p.abortedUntil.Add(longest)
	p.stopAbortTimer()
	p.abortTimer = time.AfterFunc(time.Until(p.abortedUntil), func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.phase != polling || p.aborted(time.Now()) {
			return // a stop, or another abort with a timer of its own, was first
		}
		p.receiveMore()
		p.abortTimer = time.AfterFunc(time.Until(p.probeUntil), p.goOn)
	})
}

// probed ends the probe if a record that was started after the abort has ended
// without another. The caller holds the lock, and that of a batch.
func (p *Poller) probed(r *batch.Result) {
	if !p.probing(time.Now()) || r.Started.Before(p.abortedUntil) || errors.Is(r.Err, ErrLost) {
		return
	}
	p.probeUntil = time.Time{}
	p.routines.Go(p.goOn)
}

// goOn receives and starts as many as there is room for.
func (p *Poller) goOn() {
	p.mu.Lock()
	p.receiveMore()
	p.mu.Unlock()
	p.pump()
}

// slots is how many chains may run.
func (p *Poller) slots(now time.Time) int {
	if p.probing(now) {
		return 1
	}
	return p.cfg.Engine.Concurrency
}
