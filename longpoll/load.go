package longpoll

import (
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/internal/settle"
)

// load is what this poller holds.
type load struct {
	held int // messages that the runner has
	// byID has every message that is held, or done and not deleted yet.
	byID   map[string]*message
	recent recent
	// replaced are being released, and were received again before SQS answered.
	replaced []*message
	// noExtension is until when extending waits after it failed.
	noExtension time.Time

	handled []time.Time   // when the latest records were, for ahead
	pace    time.Duration // how long they took, on average
}

// Records are received ahead for the slots to take soon, judged by what they
// took lately.
const (
	horizon     = time.Second            // for as many records as there are slots
	slowReceive = 100 * time.Millisecond // for more: what a slow receive takes must not leave slots idle
)

// ahead is how many records may wait for one of the slots.
func (l *load) ahead(now time.Time, slots, most int) int {
	l.handled = l.handled[l.handledBefore(now.Add(-horizon)):]
	n := min(len(l.handled), max(slots, maxReceive))
	lately := len(l.handled) - l.handledBefore(now.Add(-slowReceive))
	if l.pace > 0 { // they may have finished all at once, and be slow nevertheless
		n = min(n, int(time.Duration(slots)*horizon/l.pace))
		lately = min(lately, int(time.Duration(slots)*slowReceive/l.pace))
	}
	return min(most, max(n, lately))
}

// handledBefore counts the records in handled that are older than t.
func (l *load) handledBefore(t time.Time) int {
	n, _ := slices.BinarySearchFunc(l.handled, t, time.Time.Compare)
	return n
}

// done counts n messages that the runner has finished. took is how long the first one's
// handler took.
func (l *load) done(n, most int, took time.Duration) {
	l.held -= n
	if l.pace == 0 {
		l.pace = took
	}
	l.pace += (took - l.pace) / 16
	now := time.Now()
	for range n {
		l.handled = append(l.handled, now)
	}
	if extra := len(l.handled) - most; extra > 0 {
		l.handled = l.handled[extra:]
	}
}

// known takes a message that is held or handled here already, and reports false for others.
// SQS delivers a message again when its visibility could not be extended, and standard
// queues now and then for no reason. One that is held goes on with the new receipt
// handle; one that was handled is deleted by it, and not handled again.
func (p *Poller) known(again types.Message, at time.Time) bool {
	id := aws.ToString(again.MessageId)
	m := p.load.byID[id]
	if m == nil && !p.load.recent.has(id) || m != nil && m.state == toReturn {
		return false
	}
	p.counts.Repeated++
	latest := &p.receiptOf([]types.Message{again}, at)[0]
	if m == nil {
		latest.state, latest.notified = toDelete, true // the hooks know nothing of it
		latest.Result.Outcome = batch.Succeeded
		p.load.byID[id] = latest
		p.enqueueDelete(latest)
		return true
	}
	m.entry.Latest, m.hiddenFor, m.extended, m.lost = latest.Record, latest.hiddenFor, 0, false
	if m.state == held {
		p.runner.Renew(&m.Delivery, &latest.Delivery)
	}
	return true
}

// hold gives received messages to the runner. If none may start now, the runner is paused,
// and the same step of the loop gives them back.
func (p *Poller) hold(messages []message) {
	deliveries := make([]*runner.Delivery, len(messages))
	for i := range messages {
		m := &messages[i]
		if old := p.load.byID[m.Record.MessageID]; old != nil { // it is being released, and was shown already
			p.load.replaced = append(p.load.replaced, old)
		}
		p.load.byID[m.Record.MessageID] = m
		deliveries[i] = &m.Delivery
	}
	p.load.held += len(deliveries)
	p.runner.Add(deliveries...)
}

// collect takes the deliveries that the runner has finished.
func (p *Poller) collect() {
	p.finished = p.runner.Finished(p.finished[:0])
	for _, d := range p.finished { // before anything is given back
		if d.Verdict.Aborts {
			p.applyAbort(d.Owner.(*message))
		}
	}
	for _, d := range p.finished {
		m := d.Owner.(*message)
		switch {
		case d.Deciding():
			p.tryDeadLetter(m)
			continue
		case d.Result.Outcome.Done():
			p.succeeded(m)
		default:
			p.failedGroup(m)
		}
		if p.aborts.trial(time.Now()) {
			p.aborts.endTrial(m)
		}
	}
	clear(p.finished)
	if n := p.runner.Count().Abandoned; n > p.cfg.MaxAbandoned {
		p.fail(fmt.Errorf("%w: %d still run that were given up, MaxAbandoned (with package handler: SQSBATCH_MAX_ABANDONED) is %d; the process ends so that another one starts",
			ErrAbandoned, n, p.cfg.MaxAbandoned))
	}
}

// succeeded has a record deleted that was handled, dropped or dead-lettered.
func (p *Poller) succeeded(m *message) {
	m.state = toDelete
	if m.Result.Outcome == batch.Succeeded || m.Result.Outcome == batch.Duplicate {
		p.counts.Succeeded++
	} else {
		p.counts.Failed++
	}
	p.load.done(1, p.cfg.Prefetch, m.Result.Duration)
	p.enqueueDelete(m)
}

// failedGroup settles a record that failed, and the records of its group that were skipped
// because of it.
func (p *Poller) failedGroup(m *message) {
	var group []*message
	for d := range m.Group() {
		one := d.Owner.(*message)
		one.state = toReturn
		group = append(group, one)
	}
	switch r := m.Result; {
	case r.Outcome == batch.NotStarted: // too little was left of its time, or a hook held its batch up
		p.load.held -= len(group)
		if r.Err == batch.ErrStopped { // never an error of a handler
			why := p.aborts.reason(time.Now())
			for _, m := range group {
				m.Result.Err = why
			}
		}
		p.release(group)
		return
	case m.Verdict.Expired:
		m.checkLapsed(p, time.Now())
		m.lost = true
	default:
		p.counts.Failed++
		if r.Outcome == batch.Abandoned {
			p.counts.Abandoned++
		}
	}
	p.load.done(len(group), p.cfg.Prefetch, m.Result.Duration)
	p.settleFailed(group)
}

// tryDeadLetter asks the settler to dead-letter a failed record, so that its group can go on.
// During a stop the record fails at once, with its group: the stop may have caused the failure.
func (p *Poller) tryDeadLetter(m *message) {
	if p.stopping.Err() != nil || m.checkLapsed(p, time.Now()) { // SQS may have moved it itself
		p.runner.Resolve(&m.Delivery, nil)
		return
	}
	result := *m.Result
	e := &settle.Entry{Result: &result, Verdict: m.Verdict.Verdict, Latest: m.entry.Latest, Owner: m}
	p.settler.DeadLetter(e, func(gone *batch.Result) { p.runner.Resolve(&m.Delivery, gone) })
}

// call makes a call beside the loop, and has the loop call what f returns.
func (p *Poller) call(f func() func()) {
	p.callsOpen++
	go func() {
		took := f()
		p.do(func() {
			p.callsOpen--
			took()
		})
	}()
}

// giveBackWaiting releases waiting records, if they must not wait here.
func (p *Poller) giveBackWaiting(now time.Time) {
	if p.load.held > 0 && p.givesBack(now) && p.runner.Count().Waiting > 0 {
		why := p.aborts.reason(now)
		p.giveBack(p.runner.Withdraw(why), why)
	}
}

// giveBack releases records that were not started. why becomes their error, which hooks see
// if their batch began.
func (p *Poller) giveBack(list []*runner.Delivery, why error) {
	var back []*message
	now := time.Now()
	for _, d := range list {
		m := d.Owner.(*message)
		m.state = toReturn
		m.Result.Outcome, m.Result.Err = batch.NotStarted, why
		if m.checkLapsed(p, now); m.visibleAt().After(now) {
			back = append(back, m)
		} else {
			p.settled(m)
		}
	}
	p.load.held -= len(list)
	p.release(back)
}

// checkLapsed reports whether others may have m, and counts it when that is new.
func (m *message) checkLapsed(p *Poller, now time.Time) bool {
	if !m.lost && !m.visibleAt().After(now) {
		m.lost = true
		p.counts.Lost++
	}
	return m.lost
}

// maxWaiting is how long a record of a standard queue waits for a slot here.
const maxWaiting = 20 * time.Second

// giveUpWaiting releases records that have waited too long behind slow ones: another task
// may have a free slot. Records of FIFO queues stay: running records lock their groups.
func (p *Poller) giveUpWaiting(now time.Time) {
	if !p.fifo() && p.runner.Count().Ready > 0 {
		p.giveBack(p.runner.WithdrawOlder(now.Add(-maxWaiting)), batch.ErrStopped)
	}
}

// revoke gives up a message that SQS refused to extend. One that was handled may be gone
// because a delete worked whose answer was lost.
func (p *Poller) revoke(m *message) {
	if m.lost = true; m.state != held {
		return
	}
	p.counts.Lost++
	p.warn(batch.Warning{MessageID: m.Record.MessageID, Message: "SQS did not extend the record's visibility, " +
		"others may receive it: it is cancelled here, or not started (was this process suspended, was it deleted, or did an SQS of your own restart?)"})
	p.giveBack(p.runner.Revoke(&m.Delivery), errGroupLost)
	if p.settler.Withdraw(m.Record) { // it is not being sent to the dead-letter queue: others may succeed with it
		p.runner.Resolve(&m.Delivery, nil)
	}
}

// errGroupLost is the error of what was not started because an earlier record of its
// group was lost.
var errGroupLost = fmt.Errorf("%w: others may have received it, or an earlier record of its group", batch.ErrNotStarted)
