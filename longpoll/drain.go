package longpoll

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

const (
	// flushTimeout bounds settling after the last handler has returned.
	flushTimeout = 4 * time.Second
	// handBack is how long the engine may take to give back what its hooks block.
	handBack = 500 * time.Millisecond
	// lastWords is how long calls may take to end at the end of all, and then
	// hooks to be told what is left.
	lastWords = 50 * time.Millisecond
)

// drain ends the polling: it receives no more, makes visible what was not
// started, waits for what runs, and settles it. Each of its waits has an end,
// whatever SQS, handlers and hooks do.
func (p *Poller) drain() {
	now := time.Now()
	limit := time.NewTimer(p.cfg.DrainLimit)
	defer limit.Stop()
	p.mu.Lock()
	p.phase = draining
	p.endBy = now.Add(p.cfg.DrainLimit + p.cfg.Engine.Grace + flushTimeout)
	p.settling.by = p.endBy.Add(-time.Second)
	p.trouble.stopTimer()
	running := p.runningBatches()
	p.releaseAll(p.takeWaiting())
	p.retryDue(now.Add(lastRetry)) // all of them: it is now or never
	p.flush(true)
	p.mu.Unlock()
	for _, r := range running {
		r.Stop()
	}
	if !p.until(p.nothingRuns, limit.C, p.force) {
		p.cut()
		grace := time.NewTimer(p.cfg.Engine.Grace + handBack)
		defer grace.Stop()
		if !p.until(p.nothingRuns, grace.C, nil) { // the engine gives up on handlers after their grace, but waits for hooks
			p.takeOver()
		}
	}
	end := time.Now().Add(flushTimeout)
	p.mu.Lock()
	if p.endBy.Before(end) {
		end = p.endBy
	}
	p.settling.by = p.settling.bounded(end.Add(-time.Second))
	p.settling.last = true
	cutOff := time.AfterFunc(time.Until(p.settling.by), p.endFlush) // of settlements that began before the stop
	defer cutOff.Stop()
	p.endBeat() // what waits for an extension's answer has no time for it
	p.flush(true)
	p.mu.Unlock()
	flushed := time.NewTimer(time.Until(end))
	defer flushed.Stop()
	p.endReceives(end)
	p.until(p.nothingLeft, flushed.C, nil)
}

// endReceives gives up the receives that are not answered soon, and by late.
// While something runs anyway they are left open, unless something is given back
// meanwhile: SQS may go on with a long poll whose client has left, and what that
// takes is hidden from everyone.
func (p *Poller) endReceives(late time.Time) {
	now := time.Now()
	p.mu.Lock()
	soon := time.NewTimer(min(p.intake.end(now).Sub(now), late.Sub(now)))
	p.mu.Unlock()
	defer soon.Stop()
	p.until(func() bool { return p.intake.calls == 0 }, soon.C, nil)
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
	n, running := len(p.load.begun), p.runningBatches()
	why := fmt.Sprintf("the stop had taken as long as it may (DrainLimit is %v; with package handler: SQSBATCH_DRAIN_LIMIT)", p.cfg.DrainLimit)
	select {
	case <-p.force:
		why = "the stop was told not to wait any longer (the end of Shutdown's context)"
	default:
	}
	p.mu.Unlock()
	p.warn(batch.Warning{Message: fmt.Sprintf("queue %s: %d still ran when %s: they are cancelled", p.cfg.Queue, n, why)})
	for _, r := range running {
		r.Cancel()
	}
}

// takeOver ends chains that a hook keeps from ending by themselves: what of them
// has no outcome was not started.
func (p *Poller) takeOver() {
	p.mu.Lock()
	list := slices.Collect(maps.Keys(p.load.begun))
	p.mu.Unlock()
	for _, c := range list {
		p.ended(c, c.notStarted())
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

// StopTakes is the longest that [Poller.Run] takes to return when it was told
// to stop: DrainLimit, what handlers may take after the end of their contexts,
// and 4 s for settling.
func (p *Poller) StopTakes() time.Duration {
	return p.cfg.DrainLimit + p.cfg.Engine.Grace + flushTimeout
}
