package longpoll

import (
	"context"
	"fmt"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

const (
	// flushTimeout bounds settling after the last handler has returned. A stop is one
	// sum: DrainLimit, the grace, this, and a second for the process make what platforms
	// give it before they kill. The tests of deploy add the constants up.
	flushTimeout = 4 * time.Second
	// lastWords is how long calls may take to end at the end of all, and then
	// hooks to be told what is left.
	lastWords = 50 * time.Millisecond
)

// drain is how far a stop has come. Each of its waits has an end, whatever SQS,
// handlers and hooks do: what runs has until cutAt, what is cancelled then until
// giveUpAt, and settling until flushBy. What is not reached yet is zero.
type drain struct {
	forced   bool // it shall not wait for what runs any longer
	cutAt    time.Time
	giveUpAt time.Time
	flushBy  time.Time
	endBy    time.Time // of all
}

// next is when the drain goes on by time; zero for never.
func (d *drain) next(p *Poller) time.Time {
	switch {
	case p.phase != draining:
		return time.Time{}
	case !d.flushBy.IsZero():
		if end := p.receivesEnd(); p.intake.calls > 0 && p.intake.ctx.Err() == nil && end.Before(d.flushBy) {
			return end
		}
		return d.flushBy
	case !d.giveUpAt.IsZero():
		return d.giveUpAt
	}
	return d.cutAt
}

// beginStop receives and starts no more, and makes visible what was not started.
func (p *Poller) beginStop() {
	if p.phase < polling {
		p.phase = stopped
		return
	}
	if p.phase != polling {
		return
	}
	now := time.Now()
	p.phase = draining
	p.drain.cutAt = now.Add(p.cfg.DrainLimit)
	p.drain.endBy = now.Add(p.StopTakes())
	p.flushEnds = time.AfterFunc(p.StopTakes()-time.Second, p.endFlush)
	p.startOrHold(now)
	p.giveBackWaiting(now)
	p.settler.Hurry() // it is now or never
	p.sweepOn()
}

// drained goes on with a stop, and reports whether it is over.
func (p *Poller) drained(now time.Time) bool {
	d := &p.drain
	if d.flushBy.IsZero() {
		switch idle := p.load.held == 0 && p.runner.Idle(); {
		case idle:
			p.lastFlush(now)
		case d.giveUpAt.IsZero() && (d.forced || !now.Before(d.cutAt)):
			p.cut(now)
		case !d.giveUpAt.IsZero() && !now.Before(d.giveUpAt):
			p.runner.GiveUp() // what a hook keeps from ending
			p.collect()
			p.giveBackWaiting(now)
			p.lastFlush(now)
		}
	}
	if d.flushBy.IsZero() {
		return false
	}
	if !now.Before(p.receivesEnd()) {
		p.intake.abandon()
	}
	return p.nothingLeft() || !now.Before(d.flushBy) || p.flushing.Err() != nil && p.settler.Calls() == 0
}

// cut ends the contexts of what runs: the drain has taken as long as it may.
func (p *Poller) cut(now time.Time) {
	p.settling.cutting = true
	p.drain.giveUpAt = now.Add(p.cfg.Engine.Grace)
	n := p.runner.Cancel(context.Canceled)
	why := fmt.Sprintf("the stop had taken as long as it may (DrainLimit is %v; with package handler: SQSBATCH_DRAIN_LIMIT)", p.cfg.DrainLimit)
	if p.drain.forced {
		why = "the stop was told not to wait any longer (the end of Shutdown's context)"
	}
	p.warn(batch.Warning{Message: fmt.Sprintf("queue %s: %d still ran when %s: they are cancelled", p.cfg.Queue, n, why)})
}

// lastFlush settles what is left, since nothing runs any more.
func (p *Poller) lastFlush(now time.Time) {
	d := &p.drain
	d.flushBy = now.Add(flushTimeout)
	if d.endBy.Before(d.flushBy) {
		d.flushBy = d.endBy
	}
	p.flushEnds.Reset(time.Until(d.flushBy.Add(-time.Second)))
	p.settler.Hurry()
	p.endBeat() // what waits for an extension's answer has no time for it
}

// receivesEnd is when the receives that are open are given up which are not answered.
// While something runs anyway they are left open, unless something is given back
// meanwhile: SQS may go on with a long poll whose client has left, and what that
// takes is hidden from everyone.
func (p *Poller) receivesEnd() time.Time {
	end := p.intake.end(time.Now())
	if p.drain.flushBy.Before(end) {
		return p.drain.flushBy
	}
	return end
}

func (p *Poller) nothingLeft() bool {
	return p.settler.Idle() && !p.settling.held && len(p.settling.waiting) == 0 && p.intake.calls == 0
}
