package longpoll

import (
	"context"
	"fmt"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

const (
	// flushTimeout limits settling after the last handler has returned. The parts of a stop
	// add up to the time that platforms give it before they kill: DrainLimit, the grace,
	// flushTimeout, and a second for the process. The tests of deploy add these constants
	// up.
	flushTimeout = 4 * time.Second
	// lastAnswers is what is left of flushTimeout when the settler's calls end, so that the
	// poller can still report the records that it could not settle.
	lastAnswers = time.Second
	// lastWords limits how long Run waits at its end for calls, and then for the hooks that
	// are notified of the records that are left.
	lastWords = 50 * time.Millisecond
)

// beginStop receives and starts nothing more, and releases records that were not started.
// Each phase of a stop has a time limit, whatever SQS, handlers and hooks do.
func (p *Poller) beginStop() {
	if p.phase < polling {
		p.phase = stopped
	}
	if p.phase != polling {
		return
	}
	p.stop() // handlers see it, see batch.Stopping
	now := time.Now()
	p.phase, p.phaseEnds = draining, now.Add(p.cfg.DrainLimit)
	p.settler.Hurry() // settle now, since there is no time later
}

// drain begins the next phase of a stop when no handler runs any more, or when the phase's
// time is over.
func (p *Poller) drain(now time.Time) {
	if p.phase != draining && p.phase != canceling {
		return
	}
	late := !now.Before(p.phaseEnds)
	switch {
	case p.load.held == 0 && p.runner.Idle():
		p.settleLast(now)
	case p.phase == draining && (late || p.forced.Err() != nil):
		p.cancelAll(now)
	case p.phase == canceling && late:
		p.runner.GiveUp() // records that a hook or a send still holds
		p.releaseWaiting(now)
		p.settleLast(now)
	}
}

// cancelAll ends the contexts of running handlers, since the drain's time is over.
func (p *Poller) cancelAll(now time.Time) {
	p.phase, p.phaseEnds = canceling, now.Add(p.cfg.Engine.Grace)
	running, deciding := p.runner.Cancel(context.Canceled), p.runner.Count().Deciding
	why := fmt.Sprintf("the drain limit was over (DrainLimit is %v; with package handler: SQSBATCH_DRAIN_LIMIT)", p.cfg.DrainLimit)
	if p.forced.Err() != nil {
		why = "the stop was cut short (Shutdown's context ended)"
	}
	text := fmt.Sprintf("a RecordFinished hook still ran when %s: hooks must not block", why)
	switch {
	case running > 0:
		text = fmt.Sprintf("handlers that still ran when %s are cancelled: %d", why, running)
	case deciding > 0:
		text = fmt.Sprintf("records that were being sent to the dead-letter queue when %s: %d", why, deciding)
	}
	p.warn(batch.Warning{Message: "queue " + p.cfg.Queue + ": " + text})
}

// settleLast settles the remaining records, once no handler runs. It abandons open receives
// only now: SQS may continue a long poll whose client is gone, and then hides the messages
// that it returns from everyone.
func (p *Poller) settleLast(now time.Time) {
	p.phase, p.phaseEnds = settling, now.Add(flushTimeout)
	p.intake.endSoon(now)
	p.settler.Hurry()
	p.endBeat() // there is no time to wait for an extension's answer
}

// settledAll reports whether the stop is over, because nothing is left or there is no time
// for it.
func (p *Poller) settledAll(now time.Time) bool {
	if !now.Before(p.phaseEnds.Add(-lastAnswers)) {
		p.endFlush()
	}
	nothingLeft := p.settler.Idle() && len(p.releases) == 0 && p.intake.calls == 0
	return nothingLeft || !now.Before(p.phaseEnds) || p.flushing.Err() != nil && p.settler.Calls() == 0
}
