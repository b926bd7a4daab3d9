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
	p.engine.Hooks().BatchStarted(p.base, c.info)
	running := p.engine.Start(p.base, c.records, c.info.Times, batch.Progress{
		Succeeded: func(r *batch.Result) { p.succeeded(c, r) },
		Failed:    func(unit []*batch.Result) { p.failedUnit(c, unit) },
		Done:      func(results []batch.Result) { p.ended(c, results) },
	})
	p.mu.Lock()
	c.running = running
	cancel, stop := c.canceled, p.phase != polling
	p.mu.Unlock()
	switch {
	case cancel:
		running.Cancel()
	case stop:
		running.Stop()
	}
}

// times bounds a chain: SQS leaves a message with a receiver for 12 hours, or
// without heartbeats for its visibility timeout. The usual chain is far from
// that, and bounded by the record timeout alone.
func (p *Poller) times(c *chain) batch.Times {
	first := &c.messages[0]
	deadline, margin := first.receivedAt.Add(maxHeld), settleMargin
	if p.cfg.NoHeartbeat {
		deadline, margin = first.visibleAt, min(p.queue.visibility/10, settleMargin)
	} else if time.Until(deadline) > time.Duration(len(c.records))*p.cfg.Engine.RecordTimeout+time.Minute {
		return batch.Times{}
	}
	return batch.Times{Deadline: deadline, Cutoff: deadline.Add(-margin), SettleBy: deadline.Add(-margin / 4)}
}

const (
	maxHeld      = 12 * time.Hour
	settleMargin = 5 * time.Second
)

// succeeded is told by the engine of a record that was handled.
func (p *Poller) succeeded(c *chain, r *batch.Result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := c.message(r)
	m.state = done
	p.counts.Succeeded++
	p.load.finish(1, p.cfg.Prefetch, r.Duration)
	p.settle(outcome{m, *r})
}

// failedUnit is told by the engine of a record that failed, and of those of its
// group that were skipped for it.
func (p *Poller) failedUnit(c *chain, unit []*batch.Result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := make([]outcome, len(unit))
	for i, r := range unit {
		m := c.message(r)
		m.state = failed
		list[i] = outcome{m, *r}
	}
	list = append(list, p.behind(c)...)
	p.counts.Failed++
	p.load.finish(len(list), p.cfg.Prefetch, unit[0].Duration)
	p.settleFailed(list)
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

// message is that of a result of c.
func (c *chain) message(r *batch.Result) *message {
	for i := range c.records {
		if &c.records[i] == r.Record {
			return &c.messages[i]
		}
	}
	panic("longpoll: a result of another batch") // cannot happen
}

// ended is told by the engine that nothing of c runs any more.
func (p *Poller) ended(c *chain, results []batch.Result) {
	p.mu.Lock()
	var left []outcome
	for i := range results {
		switch results[i].Outcome {
		case batch.NotStarted:
			c.messages[i].state = failed
			left = append(left, outcome{&c.messages[i], results[i]})
		case batch.Abandoned:
			p.abandoned(&c.records[i])
		}
	}
	c.ended = true
	p.load.held -= len(left)
	p.load.running--
	delete(p.load.begun, c)
	p.leave(c)
	p.releaseOutcomes(left)
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
			"others may receive it: it is cancelled here, or not started (was it deleted, or this process suspended?)"})
	}
	if m.state != begun || c.ended {
		return // what waits is dropped when its turn comes
	}
	c.canceled = true
	if c.running != nil {
		p.routines.Go(c.running.Cancel)
	}
}

// ErrLost is a record's error when it was not started, because others may have
// received it: its visibility could not be extended.
var ErrLost = errors.New("longpoll: not started, the record's visibility timeout is over")

// counting counts the handlers that were given up and still run.
func (p *Poller) counting(h batch.Handler) batch.Handler {
	return batch.HandlerFunc(func(ctx context.Context, r batch.Record) error {
		if !p.handling.enter(p, &r) {
			return ErrLost
		}
		defer p.handling.leave(p, r.ReceiptHandle)
		return h.Handle(ctx, r)
	})
}

// handling has the handlers that run, by receipt handle, and whether they were
// given up; the poller's lock guards it.
type handling struct {
	running   map[string]bool
	abandoned int
}

// enter notes a handler that begins. It reports false when the record is no
// longer this poller's, as when it waited for the one before it in its group.
func (h *handling) enter(p *Poller, r *batch.Record) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m := p.load.byID[r.MessageID]; m != nil && (m.lost || !m.visibleAt.After(time.Now())) {
		m.lost = true
		return false
	}
	if h.running == nil {
		h.running = make(map[string]bool)
	}
	h.running[r.ReceiptHandle] = false
	return true
}

func (h *handling) leave(p *Poller, receipt string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if h.running[receipt] {
		h.abandoned--
	}
	delete(h.running, receipt)
}

// abandoned notes that a record's handler was given up; the caller holds the lock.
func (p *Poller) abandoned(r *batch.Record) {
	h := &p.handling
	p.counts.Abandoned++
	if givenUp, runs := h.running[r.ReceiptHandle]; runs && !givenUp {
		h.running[r.ReceiptHandle] = true
		h.abandoned++
	}
}

func (p *Poller) tooManyAbandoned() {
	if n := p.handling.abandoned; n > p.cfg.MaxAbandoned {
		p.fail(fmt.Errorf("%w: %d still run that were given up, MaxAbandoned (SQSBATCH_MAX_ABANDONED) is %d; the process ends so that another one starts",
			ErrAbandoned, n, p.cfg.MaxAbandoned))
	}
}

// cutOff reports whether a record failed because the poller stopped.
func (p *Poller) cutOff(r *batch.Result) bool {
	var later *batch.RetryAfterError
	return p.settling.cutting && !batch.IsPermanent(r.Err) && !errors.As(r.Err, &later) &&
		(r.Outcome == batch.Abandoned || errors.Is(r.Err, context.Canceled))
}
