package longpoll

import (
	"fmt"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

const (
	// receiveGrace is how long an open receive may still be answered when the
	// poller stops: SQS may have taken messages for it already.
	receiveGrace = 200 * time.Millisecond
	// flushTimeout bounds settling after the last handler has returned.
	flushTimeout = 4 * time.Second
)

// drain ends the polling: it receives no more, makes visible what was not
// started, waits for what runs, and settles it.
func (p *Poller) drain() {
	limit := time.NewTimer(p.cfg.DrainLimit)
	defer limit.Stop()
	p.mu.Lock()
	p.phase = draining
	p.settling.by = time.Now().Add(p.cfg.DrainLimit + p.cfg.Engine.Grace + flushTimeout - time.Second)
	p.trouble.stopTimer()
	back := p.takeWaiting()
	running := p.runningBatches()
	p.retryDue(time.Now().Add(lastRetry)) // all of them: it is now or never
	p.flush(true)
	p.mu.Unlock()
	for _, r := range running {
		r.Stop()
	}
	if len(back) > 0 { // an open receive could take it again
		p.endReceives()
		p.mu.Lock()
		p.releaseAll(back)
		p.flush(true)
		p.mu.Unlock()
	}

	if !p.until(p.nothingRuns, limit.C, p.force) {
		p.cut()
		p.until(p.nothingRuns, nil, nil) // the engine gives up on handlers after their grace
	}
	flushed := time.NewTimer(flushTimeout)
	defer flushed.Stop()
	p.mu.Lock()
	p.settling.by = p.settling.bounded(time.Now().Add(flushTimeout - time.Second))
	p.settling.last = true
	p.endBeat() // what waits for an extension's answer has no time for it
	p.flush(true)
	p.mu.Unlock()
	p.endReceives()
	p.until(p.nothingLeft, flushed.C, nil)
}

// endReceives gives up the receives that are not answered within the grace.
// While something runs anyway they are left open: SQS may go on with a long poll
// whose client has left, and what that takes is hidden from everyone.
func (p *Poller) endReceives() {
	grace := time.NewTimer(receiveGrace)
	defer grace.Stop()
	p.until(func() bool { return p.intake.calls == 0 }, grace.C, nil)
	p.intake.abandon()
}

// until waits until ok holds and reports false when it does not in time.
func (p *Poller) until(ok func() bool, late <-chan time.Time, force <-chan struct{}) bool {
	for {
		p.mu.Lock()
		is := ok()
		p.mu.Unlock()
		if is {
			return true
		}
		select {
		case <-p.changed:
		case <-late:
			return false
		case <-force:
			return false
		}
	}
}

func (p *Poller) nothingRuns() bool { return p.load.running == 0 }

func (p *Poller) nothingLeft() bool {
	s := &p.settling
	return s.calls == 0 && len(s.done)+len(s.failed)+len(s.back)+len(s.again) == 0 && p.intake.calls == 0
}

// cut ends the contexts of what runs: the drain has taken as long as it may.
func (p *Poller) cut() {
	p.mu.Lock()
	p.settling.cutting = true
	for c := range p.load.begun {
		c.canceled = true
	}
	running := p.runningBatches()
	why := fmt.Sprintf("the stop had taken as long as it may (DrainLimit, SQSBATCH_DRAIN_LIMIT, is %v)", p.cfg.DrainLimit)
	select {
	case <-p.force:
		why = "the stop was told not to wait any longer (the end of Shutdown's context)"
	default:
	}
	p.mu.Unlock()
	p.engine.Hooks().Warn(p.base, batch.Warning{Queue: batch.QueueName(p.cfg.Queue), Message: fmt.Sprintf("queue %s: %d still ran when %s: they are cancelled", p.cfg.Queue, len(running), why)})
	for _, r := range running {
		r.Cancel()
	}
}

// runningBatches are those that the engine runs; the caller holds the lock.
func (p *Poller) runningBatches() (list []*batch.Running) {
	for c := range p.load.begun {
		if c.running != nil {
			list = append(list, c.running)
		}
	}
	return list
}

// takeWaiting takes all that waits for a slot; the caller holds the lock.
func (p *Poller) takeWaiting() (back []*message) {
	l := &p.load
	for _, c := range l.waiting {
		back = append(back, p.giveBack(c)...)
	}
	for group, line := range l.groups {
		for _, c := range line {
			back = append(back, p.giveBack(c)...)
		}
		l.groups[group] = nil
	}
	for _, c := range l.waiting {
		if c.group != "" {
			delete(l.groups, c.group)
		}
	}
	l.waiting = nil
	return back
}

// Pause stops receiving until [Poller.Resume], for when what the handler needs
// is down: what waits for a slot is made visible at once, what runs goes on. It
// has no effect while the Poller stops.
func (p *Poller) Pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.paused {
		return
	}
	p.paused = true
	if p.phase != polling {
		return
	}
	back, abandon := p.takeWaiting(), p.intake.abandon
	p.settling.calls++ // a stop waits for this
	time.AfterFunc(receiveGrace, func() {
		abandon() // an open receive could take again what is released
		p.mu.Lock()
		defer p.mu.Unlock()
		p.settling.calls--
		p.releaseAll(back)
		p.signal()
	})
}

// Resume begins receiving again after [Poller.Pause].
func (p *Poller) Resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.paused {
		return
	}
	p.paused = false
	if p.phase == polling {
		p.intake.open(p.base)
		p.receiveMore()
	}
}

// StopTakes is the longest that [Poller.Run] takes to return when it was told
// to stop: DrainLimit, what handlers may take after the end of their contexts,
// and 4 s for settling.
func (p *Poller) StopTakes() time.Duration {
	return p.cfg.DrainLimit + p.cfg.Engine.Grace + flushTimeout
}
