package longpoll

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// settled takes what SQS answered.
func (p *Poller) settled(list []outcome) {
	again := p.deletesFare(list)
	for _, o := range list {
		o.settling = false
		switch {
		case !o.result.Outcome.Done():
			p.forget(o.message)
		case o.state == done && o.handle != o.result.Record.ReceiptHandle:
			// It was delivered again meanwhile: a delete by the handle before
			// that has no effect, although it may be answered with success.
			p.settling.done = append(p.settling.done, o)
			continue
		case o.result.Deleted, partialfailure.StaleReceipt(o.result.DeleteErr):
			p.settling.deleted(o.message)
			p.load.recent.add(o.record().MessageID)
			p.forget(o.message)
		default:
			p.retryDelete(o)
		}
		p.tell(o)
	}
	if again {
		p.retryDue(time.Now().Add(lastRetry))
	}
}

// deleted counts a message that is no longer to be deleted.
func (s *settling) deleted(m *message) {
	if m.state == done {
		s.backlog--
	}
}

// retryDelete has a delete made again: until it is, the record would come back.
func (p *Poller) retryDelete(o outcome) {
	if o.state != done { // it went to the dead-letter queue, or was dropped
		o.state = done
		p.settling.backlog++
		p.load.byID[o.record().MessageID] = o.message
	}
	p.tryAgain(o)
}

// tryAgain has a delete or a release made again, less and less often.
func (p *Poller) tryAgain(o outcome) {
	o.tries++
	delay := min(time.Second<<min(o.tries-1, 10), lastRetry)
	if p.phase != polling {
		delay = 500 * time.Millisecond
	}
	p.settling.again = append(p.settling.again, retry{o, time.Now().Add(delay)})
	p.sweepOn()
}

// retryDue puts in line what is to be tried again now.
func (p *Poller) retryDue(now time.Time) {
	s := &p.settling
	left := s.again[:0]
	for _, r := range s.again {
		switch {
		case r.at.After(now):
			left = append(left, r)
		case r.state == done:
			s.done = append(s.done, r.outcome)
		default:
			s.back = append(s.back, r.outcome)
		}
	}
	clear(s.again[len(left):])
	s.again = left
	if len(s.done)+len(s.back) > 0 {
		p.flush(true)
	}
}

// tell notes a settled record and, when it was the last of its chain, tells the hooks.
func (p *Poller) tell(o outcome) {
	c := o.chain
	if o.told || c.started.IsZero() || o.result.Record == nil {
		return // its delete was tried again, or it never began
	}
	o.told = true
	if c.results == nil {
		c.results = make([]batch.Result, len(c.records))
	}
	if errors.Is(o.result.Err, ErrLost) { // its handler was not called
		o.result.Started, o.result.Duration, o.result.Allowed = time.Time{}, 0, 0
	}
	c.results[o.index] = o.result
	c.unasked = c.unasked || !o.asked && !o.result.Outcome.Done()
	c.open--
	p.tellSettled(c)
}

// tellSettled tells the hooks of a chain whose records are all settled, not
// before they were told that it begins.
func (p *Poller) tellSettled(c *chain) {
	if c.open > 0 || !c.opened {
		return
	}
	ctx, by := cmp.Or(c.ctx, p.base), p.nearBy()
	p.routines.Go(func() {
		if c.unasked {
			p.settler.Near(p.base, by, c.results)
		}
		p.routines.watch(func() { p.engine.Hooks().BatchSettled(context.WithoutCancel(ctx), c.info(), c.results) })
	})
}

// nearBy is when the queue must have said which attempt is the last: a stop does
// not take long for that.
func (p *Poller) nearBy() time.Time {
	now := time.Now()
	switch p.phase {
	case polling:
		return now.Add(settleTimeout)
	case stopped:
		return now
	}
	return p.settling.bounded(now.Add(time.Second))
}

// tellLeft names what a stop could not settle, calls that were under way at its
// end included, and tells the hooks of it.
func (p *Poller) tellLeft() {
	p.mu.Lock()
	left := p.undone()
	for _, unit := range slices.Concat(p.settling.failed, [][]outcome{p.settling.back, p.settling.done}) {
		for _, o := range unit {
			p.tell(o)
		}
	}
	for _, r := range p.settling.again {
		p.tell(r.outcome)
	}
	p.mu.Unlock()
	if left != "" {
		p.warn(batch.Warning{Message: fmt.Sprintf("queue %s: stopped, but %s", p.cfg.Queue, left)})
	}
}

// undone names what is left, for the last line of a stop; "" for nothing.
func (p *Poller) undone() string {
	var parts []string
	n, one := 0, ""
	for id, m := range p.load.byID {
		if m.state == done {
			n, one = n+1, id
		}
	}
	if n > 0 {
		parts = append(parts, fmt.Sprintf("%d records were handled but could not be deleted (one is %s): they will be delivered again", n, one))
	}
	n = 0
	for _, unit := range slices.Concat(p.settling.failed, [][]outcome{p.settling.back}) {
		for _, o := range unit {
			n, one = n+1, o.record().MessageID
		}
	}
	for _, r := range p.settling.again {
		if r.state != done {
			n, one = n+1, r.record().MessageID
		}
	}
	if n > 0 {
		parts = append(parts, fmt.Sprintf("%d records could not be made visible (one is %s): they come back when their visibility timeout is over", n, one))
	}
	return strings.Join(parts, ", and ")
}
