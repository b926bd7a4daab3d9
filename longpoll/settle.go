package longpoll

import (
	"context"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

const (
	maxEntries    = 10 // of a batch call
	linger        = 100 * time.Millisecond
	settleTimeout = 10 * time.Second
	maxSettling   = 32 // settlements under way
	lastRetry     = 30 * time.Second
)

// outcome is a message with what became of it.
type outcome struct {
	*message
	result batch.Result
}

// settling is what is to be told to SQS; the poller's lock guards it.
type settling struct {
	done    []outcome   // to be deleted
	failed  [][]outcome // units: a failure and what was skipped for it
	back    []outcome   // to be made visible at once
	again   []retry     // deletes and releases that failed
	calls   int         // settlements and releases under way
	backlog int         // records done but not deleted
	deletes deletes
	held    bool        // nothing is given back yet, see holdBack
	timer   *time.Timer // runs while something lingers
	cutting bool        // handlers are cancelled because the poller stops
	by      time.Time   // when settling must be over; zero unless it drains
	last    bool        // nothing runs any more: tries follow each other quickly
}

// retry is a delete or a release to try again.
type retry struct {
	outcome
	at time.Time
}

// bounded is at, or when settling must be over if that is sooner.
func (s *settling) bounded(at time.Time) time.Time {
	if !s.by.IsZero() && s.by.Before(at) {
		return s.by
	}
	return at
}

func (s *settling) stopTimer() {
	if s.timer != nil {
		s.timer.Stop()
	}
}

// settle puts a record that is done in line for its deletion. The caller holds
// the lock, here and below.
func (p *Poller) settle(o outcome) {
	p.settling.backlog++
	p.settling.done = append(p.settling.done, o)
	p.flush(false)
}

// deleteAgain deletes a delivery of a message that was handled before.
func (p *Poller) deleteAgain(r batch.Record, m message) {
	c := &chain{records: []batch.Record{r}, ended: true}
	m.chain, m.index, m.state = c, 0, done
	c.messages = []message{m}
	p.load.byID[r.MessageID] = &c.messages[0]
	p.settle(outcome{&c.messages[0], batch.Result{Record: &c.records[0], Outcome: batch.Succeeded}})
}

// settleFailed puts a failure in line.
func (p *Poller) settleFailed(unit []outcome) {
	first := &unit[0].result
	switch {
	case unit[0].lost: // others may have it already: what came after it must wait for that
		p.settled(unit[:1])
		p.release(unit[1:])
	case p.cutOff(first):
		p.release(unit)
	case p.settling.cutting && first.Outcome == batch.Abandoned: // its handler may still be at work: SQS shows it when its visibility ends
		p.settled(unit)
	default:
		p.settling.failed = append(p.settling.failed, unit)
		p.flush(false)
	}
}

// flush begins a settlement for every ten of a kind, and for all when nothing
// else runs that could join them; else a moment later.
func (p *Poller) flush(all bool) {
	s := &p.settling
	if p.phase == stopped {
		return
	}
	p.flushBack(all)
	all = all || p.phase != polling || p.load.running == 0 && len(p.load.waiting) == 0
	for s.calls < maxSettling && (len(s.done) >= maxEntries || all && len(s.done) > 0) {
		n := min(len(s.done), maxEntries)
		p.beginSettlement([][]outcome{s.done[:n:n]})
		s.done = s.done[n:]
	}
	for s.calls < maxSettling {
		n, records := 0, 0
		for n < len(s.failed) && records < maxEntries {
			records += len(s.failed[n])
			n++
		}
		if n == 0 || records < maxEntries && !all || p.extending(s.failed[:n]) {
			break
		}
		p.beginSettlement(s.failed[:n:n])
		s.failed = s.failed[n:]
	}
	if len(s.done)+len(s.failed)+len(s.back) > 0 && s.timer == nil {
		s.timer = time.AfterFunc(linger, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			s.timer = nil
			p.flush(true)
		})
	}
}

// extending reports whether an extension of one of them is under way: a
// visibility that is set before its answer could be undone by it.
func (p *Poller) extending(units [][]outcome) bool {
	for _, unit := range units {
		for _, o := range unit {
			if o.extending {
				return true
			}
		}
	}
	return false
}

// beginSettlement tells SQS of units: successes, or failures, each with what was
// skipped for it.
func (p *Poller) beginSettlement(units [][]outcome) {
	for _, unit := range units {
		for _, o := range unit {
			o.settling = true
		}
	}
	by := p.settling.bounded(time.Now().Add(settleTimeout))
	var list []outcome
	for _, unit := range units {
		list = append(list, unit...)
	}
	results := make([]batch.Result, len(list))
	for i, o := range list {
		results[i] = o.latest()
	}
	p.settling.calls++
	p.routines.Go(func() {
		st := p.settler.Begin(p.base, batch.Times{SettleBy: by})
		defer context.AfterFunc(p.flushing, st.Cancel)()
		at := 0
		for _, unit := range units {
			if !results[at].Outcome.Done() {
				refs := make([]*batch.Result, len(unit))
				for i := range unit {
					refs[i] = &results[at+i]
				}
				st.Failed(refs)
			}
			at += len(unit)
		}
		st.Finish(results)
		for i := range list {
			list[i].result = results[i]
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, o := range list {
			o.asked = true
		}
		p.settling.calls--
		p.settled(list)
		p.flush(false)
		p.receiveMore()
		p.signal()
	})
}

// latest is the outcome's result with the latest receipt handle.
func (o *outcome) latest() batch.Result {
	r := o.result
	if r.Record.ReceiptHandle != o.handle || !r.Record.ReceivedAt.Equal(o.receivedAt) {
		record := *r.Record
		record.ReceiptHandle, record.ReceivedAt = o.handle, o.receivedAt
		r.Record = &record
	}
	return r
}
