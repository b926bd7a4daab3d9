package longpoll

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

// start hands a chain to the engine. The engine's callbacks take the poller's
// lock under the batch's own; so no method of a batch is called under the
// poller's lock.
func (p *Poller) start(c *chain) {
	info := c.info()
	ctx := p.engine.Hooks().BatchContext(p.base, info, c.records)
	p.engine.Hooks().BatchStarted(ctx, info)
	p.mu.Lock()
	c.ctx = ctx
	stopping := c.canceled || c.aborted != nil || p.phase != polling
	c.opened, c.handed = true, !stopping
	if c.ended { // a stop did not wait for the hooks
		p.tellSettled(c)
	}
	p.mu.Unlock()
	if stopping { // while the hooks were told
		p.ended(c, c.notStarted())
		return
	}
	running := p.engine.Start(ctx, c.records, info.Times, &progress{p, c})
	p.mu.Lock()
	c.running = running
	cancel, stop := c.canceled, c.aborted != nil || p.phase != polling
	p.mu.Unlock()
	switch {
	case cancel:
		running.Cancel()
	case stop:
		running.Stop()
	}
}

// notStarted are c's results when what has no outcome is not started any more.
func (c *chain) notStarted() []batch.Result {
	results := make([]batch.Result, len(c.records))
	for i := range results {
		if c.messages[i].state == begun {
			results[i] = batch.Result{Record: &c.records[i], Outcome: batch.NotStarted, Err: batch.ErrStopped}
		}
	}
	return results
}

// progress is what the engine tells of a chain.
type progress struct {
	*Poller
	chain *chain
}

// Begin is asked before a record is started: while it waited for those before
// it in its group, it may have become visible to others.
func (p *progress) Begin(r *batch.Record) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lapsed(p.chain.message(r), time.Now()) {
		return ErrLost
	}
	return nil
}

func (p *progress) Handled(r *batch.Result)     { p.handled(p.chain, r) }
func (p *progress) Failed(unit []*batch.Result) { p.failedUnit(p.chain, unit) }
func (p *progress) Done(results []batch.Result) { p.ended(p.chain, results) }

// Abandoned counts a handler that is given up and still runs.
func (p *progress) Abandoned(*batch.Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts.Abandoned++
	p.load.abandoned++
}

// Late counts a handler that returned after it was given up.
func (p *progress) Late(*batch.Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.load.abandoned--
}

// times bounds a chain: SQS leaves a message with a receiver for 12 hours, or
// without heartbeats for its visibility timeout. The usual chain is far from
// that, and bounded by the record timeout alone.
func (p *Poller) times(c *chain) *batch.Times {
	first := &c.messages[0]
	deadline, margin := first.receivedAt.Add(maxHeld), settleMargin
	if p.cfg.NoHeartbeat {
		deadline, margin = first.visibleAt, noHeartbeatMargin(p.queue.visibility)
	} else if time.Until(deadline) > time.Duration(len(c.records))*p.cfg.Engine.RecordTimeout+time.Minute {
		return nil
	}
	return &batch.Times{Deadline: deadline, Cutoff: deadline.Add(-margin), SettleBy: deadline.Add(-margin / 4)}
}

// noHeartbeatMargin is kept of a visibility timeout for settling.
func noHeartbeatMargin(visibility time.Duration) time.Duration {
	return min(visibility/10, settleMargin)
}

const (
	maxHeld      = 12 * time.Hour
	settleMargin = 5 * time.Second
)

// handled is told by the engine of a record that is done with.
func (p *Poller) handled(c *chain, r *batch.Result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.ended {
		return // see ended
	}
	m := c.message(r.Record)
	m.state, c.over = done, time.Now()
	if r.Outcome == batch.Succeeded {
		p.counts.Succeeded++
	} else {
		p.counts.Failed++
	}
	p.load.finish(1, p.cfg.Prefetch, r.Duration)
	p.settle(outcome{m, *r})
	p.heed(r) // a failure may have been buried
	p.probed(r)
}

// failedUnit is told by the engine of a record that failed, and of those of its
// group that were skipped for it.
func (p *Poller) failedUnit(c *chain, unit []*batch.Result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.ended {
		return // see ended
	}
	c.over = time.Now()
	c.endBurial()
	list := make([]outcome, len(unit))
	for i, r := range unit {
		m := c.message(r.Record)
		m.state = failed
		list[i] = outcome{m, *r}
	}
	list = append(list, p.behind(c)...)
	if !errors.Is(unit[0].Err, ErrLost) {
		p.counts.Failed++
	}
	p.load.finish(len(list), p.cfg.Prefetch, unit[0].Duration)
	p.settleFailed(list)
	p.heed(unit[0])
	p.probed(unit[0])
}

// behind takes what has come after c of its group: it must not overtake what
// failed, and comes back together with it.
func (p *Poller) behind(c *chain) (list []outcome) {
	if c.group == "" {
		return nil
	}
	for _, later := range p.load.groups[c.group] {
		for i := range later.messages {
			later.messages[i].state = failed
			list = append(list, outcome{&later.messages[i], batch.Result{
				Record: &later.records[i], Outcome: batch.Skipped, Err: fmt.Errorf("%w: an earlier record of its group failed", batch.ErrSkipped)}})
		}
	}
	p.load.groups[c.group] = nil // c itself still has the group
	return list
}

// message is that of a record of c.
func (c *chain) message(r *batch.Record) *message {
	for i := range c.records {
		if &c.records[i] == r {
			return &c.messages[i]
		}
	}
	panic("longpoll: a result of another batch") // cannot happen
}

// ended is told by the engine that nothing of c runs any more.
func (p *Poller) ended(c *chain, results []batch.Result) {
	p.mu.Lock()
	if c.ended { // a stop has not waited for this
		p.mu.Unlock()
		return
	}
	var left []outcome
	for i := range results {
		if results[i].Outcome == batch.NotStarted {
			m, result := &c.messages[i], results[i]
			m.state = failed
			switch { // rather than the error of a stop
			case c.lost:
				result.Err = errGroupLost
			case c.aborted != nil:
				result.Err = c.aborted
			}
			left = append(left, outcome{m, result})
		}
	}
	c.ended = true
	c.endBurial()
	p.load.held -= len(left)
	p.load.running--
	delete(p.load.begun, c)
	p.leave(c)
	p.release(left)
	p.flush(false)
	p.tooManyAbandoned()
	p.receiveMore()
	p.signal()
	p.mu.Unlock()
	p.pump()
}

// lose gives a message up of which SQS says that it is no longer ours, and ends
// what is made of it. The caller holds the lock.
func (p *Poller) lose(m *message) {
	c := m.chain
	m.lost = true
	p.counts.Lost++
	switch m.state {
	case waiting, begun:
		p.warn(batch.Warning{MessageID: m.record().MessageID, Message: "SQS did not extend the record's visibility, " +
			"others may receive it: it is cancelled here, or not started (was this process suspended, was it deleted, or did an SQS of your own restart?)"})
	}
	if m.state != begun || c.ended {
		return // what waits is dropped when its turn comes
	}
	if m.index > 0 && c.messages[m.index-1].state == begun {
		return // another one runs; this one's turn will not come, see Begin
	}
	c.canceled, c.lost = true, true
	if c.running != nil {
		p.routines.Go(c.running.Cancel)
	}
}

// ErrLost is a record's error when it was not started, because others may have
// received it: its visibility could not be extended.
var ErrLost = errors.New("longpoll: not started, the record's visibility timeout is over")

// errGroupLost is the error of what was not started because of such a record.
var errGroupLost = fmt.Errorf("%w: others may have received it, or an earlier record of its group", batch.ErrNotStarted)

func (p *Poller) tooManyAbandoned() {
	if n := p.load.abandoned; n > p.cfg.MaxAbandoned {
		p.fail(fmt.Errorf("%w: %d still run that were given up, MaxAbandoned (with package handler: SQSBATCH_MAX_ABANDONED) is %d; the process ends so that another one starts",
			ErrAbandoned, n, p.cfg.MaxAbandoned))
	}
}

// cutOff reports whether a record failed because the poller stopped.
func (p *Poller) cutOff(r *batch.Result) bool {
	v := batch.VerdictOf(r.Err)
	return p.settling.cutting && !v.Permanent && !v.HasAfter && errors.Is(r.Err, context.Canceled)
}
