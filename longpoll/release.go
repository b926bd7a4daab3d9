package longpoll

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
)

// release puts messages in line to be made visible at once, or when an abort is
// over. They go out in tens, or a moment later. The caller holds the lock, here
// and below.
func (p *Poller) release(list []outcome) {
	now := time.Now()
	aborted := p.phase == polling && p.aborted(now)
	for _, o := range list {
		o.settling = true
		if aborted {
			o.backAt = p.putOff(o, now)
		}
	}
	p.settling.back = append(p.settling.back, list...)
	if len(list) > 0 && p.endsReceives() && p.intake.calls > 0 {
		p.holdBack()
	}
	p.flush(false)
}

// gone is how long SQS may take to notice that the client of a receive has left.
const gone = 50 * time.Millisecond

// endsReceives reports whether nothing is to be received any more, or until Resume.
func (p *Poller) endsReceives() bool {
	return p.phase == draining || p.phase == polling && p.paused
}

// holdBack ends the receives that are open when a stop or a pause begins before
// anything is given back: they would take it again, at the price of a delivery, and
// one that was just given up would hide it from everyone.
func (p *Poller) holdBack() {
	s := &p.settling
	if s.held {
		return
	}
	s.held = true
	s.calls++ // the stop waits for this
	p.awaitReceives()
}

// awaitReceives ends the hold when the open receives were answered or given up, or
// go on because of a Resume.
func (p *Poller) awaitReceives() {
	time.AfterFunc(min(20*time.Millisecond, time.Until(p.intake.end(time.Now()))), func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		wait := time.Duration(0)
		if now := time.Now(); p.endsReceives() && p.intake.calls > 0 {
			if now.Before(p.intake.end(now)) {
				p.awaitReceives()
				return
			}
			p.intake.abandon()
			wait = gone
		}
		time.AfterFunc(wait, p.endHold)
	})
}

func (p *Poller) endHold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.endsReceives() && p.intake.calls > 0 && p.intake.ctx.Err() == nil {
		p.awaitReceives() // meanwhile there was a Resume, and again a pause or a stop
		return
	}
	p.settling.held = false
	p.settling.calls--
	p.flush(true)
	p.signal()
}

// releaseAll is release for messages that were never started.
func (p *Poller) releaseAll(list []*message) {
	outcomes := make([]outcome, len(list))
	for i, m := range list {
		outcomes[i].message = m
	}
	p.release(outcomes)
}

// flushBack begins calls for full tens of what is to be made visible, or for all
// of it. What is just being extended waits for the answer: an extension that
// took effect later would hide it again.
func (p *Poller) flushBack(all bool) {
	s := &p.settling
	if s.held {
		return
	}
	for s.calls < maxSettling && (len(s.back) >= maxEntries || all && len(s.back) > 0) {
		var ten, left []outcome
		for _, o := range s.back {
			if o.extending || len(ten) == maxEntries {
				left = append(left, o)
			} else {
				ten = append(ten, o)
			}
		}
		if len(ten) < maxEntries && !all || len(ten) == 0 {
			return
		}
		s.back = left
		p.beginRelease(ten)
	}
}

func (p *Poller) beginRelease(ten []outcome) {
	entries := make([]types.ChangeMessageVisibilityBatchRequestEntry, len(ten))
	now := time.Now()
	for i, o := range ten {
		entries[i], ten[i].result.VisibleIn = backEntry(i, o, now)
	}
	p.settling.calls++
	p.routines.Go(func() {
		errs, calls, _ := p.changeVisibility(p.base, entries)
		defer p.called(calls...) // without the lock
		p.mu.Lock()
		defer p.mu.Unlock()
		p.settling.calls--
		now := time.Now()
		for i, o := range ten {
			switch {
			case errs[i] == nil:
				p.counts.Released++
				o.result.VisibilitySet = true
				p.released(o)
			case sqserror.Gone(errs[i]), !o.visibleAt.After(now):
				p.released(o) // it is visible, or somebody else's
			default:
				p.tryAgain(o)
			}
		}
		p.flush(false)
		p.signal()
	})
}

// released is the end of a message that was given back.
func (p *Poller) released(o outcome) {
	o.settling = false
	p.forget(o.message)
	p.tell(o)
}
