package longpoll

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

const (
	maxEntries    = 10 // of a batch call
	linger        = 100 * time.Millisecond
	settleTimeout = 10 * time.Second
	maxSettling   = 32 // settlements under way
	lastRetry     = 30 * time.Second
)

// settling is what is to be told to SQS.
type settling struct {
	done      []*message   // to be deleted
	failed    [][]*message // groups: a failure and what was skipped for it
	back      []*message   // to be made visible at once
	again     []retry      // deletes and releases that failed
	calls     int          // settlements and releases under way
	backlog   int          // messages done but not deleted
	deletes   deletes
	held      bool      // nothing is given back yet, see holdBack
	holdEnds  time.Time // when the receives that were given up are gone, see checkHold
	lingerAt  time.Time // when what lingers is settled; zero for nothing
	holdUntil time.Time // when checkHold goes on; zero for nothing
	cutting   bool      // handlers are cancelled because the poller stops
	by        time.Time // when settling must be over; zero unless it drains
	last      bool      // nothing runs any more: tries follow each other quickly
}

// retry is a delete or a release to try again.
type retry struct {
	*message
	at time.Time
}

// bounded is at, or when settling must be over if that is sooner.
func (s *settling) bounded(at time.Time) time.Time {
	if !s.by.IsZero() && s.by.Before(at) {
		return s.by
	}
	return at
}

// settle puts a message that is done in line for its deletion.
func (p *Poller) settle(m *message) {
	p.settling.backlog++
	p.settling.done = append(p.settling.done, m)
	p.flush(false)
}

// settleFailed puts a failure, and what was skipped for it, in line.
func (p *Poller) settleFailed(group []*message) {
	first := group[0]
	switch {
	case first.lost: // others may have it already: what came after it must wait for that
		p.settled(group[:1])
		p.release(group[1:])
	case p.cutOff(first):
		p.release(group)
	case p.settling.cutting && first.Result.Outcome == batch.Abandoned: // its handler may still be at work: SQS shows it when its visibility ends
		p.settled(group)
	default:
		p.settling.failed = append(p.settling.failed, group)
		p.flush(false)
	}
}

// cutOff reports whether a record failed because the poller stopped: it is made visible
// at once, without a backoff, unless its error says what it wants.
func (p *Poller) cutOff(m *message) bool {
	return p.settling.cutting && !m.Verdict.Permanent && !m.Verdict.HasAfter && errors.Is(m.Result.Err, context.Canceled)
}

// flush begins a settlement for every ten of a kind, and for all when nothing
// else runs that could join them; else a moment later.
func (p *Poller) flush(all bool) {
	s := &p.settling
	if p.phase == stopped {
		return
	}
	p.flushBack(all)
	all = all || p.phase != polling || p.load.held == 0
	for s.calls < maxSettling && (len(s.done) >= maxEntries || all && len(s.done) > 0) {
		n := min(len(s.done), maxEntries)
		p.beginSettlement([][]*message{s.done[:n:n]})
		s.done = s.done[n:]
	}
	for s.calls < maxSettling {
		n, records := 0, 0
		for n < len(s.failed) && records < maxEntries {
			records += len(s.failed[n])
			n++
		}
		if n == 0 || records < maxEntries && !all || extending(s.failed[:n]) {
			break
		}
		p.beginSettlement(s.failed[:n:n])
		s.failed = s.failed[n:]
	}
	switch waits := len(s.done)+len(s.failed)+len(s.back) > 0; {
	case !waits:
		s.lingerAt = time.Time{}
	case s.lingerAt.IsZero():
		s.lingerAt = time.Now().Add(linger)
	}
}

// lingered settles what has waited for others.
func (p *Poller) lingered(now time.Time) {
	if s := &p.settling; !s.lingerAt.IsZero() && !now.Before(s.lingerAt) {
		s.lingerAt = time.Time{}
		p.flush(true)
	}
}

// extending reports whether an extension of one of them is under way: a
// visibility that is set before its answer could be undone by it.
func extending(groups [][]*message) bool {
	for _, group := range groups {
		for _, m := range group {
			if m.extending {
				return true
			}
		}
	}
	return false
}

// beginSettlement tells SQS of groups: successes, or failures, each with what was
// skipped for it.
func (p *Poller) beginSettlement(groups [][]*message) {
	s := &p.settling
	by := s.bounded(time.Now().Add(settleTimeout))
	var list []*message
	for _, group := range groups {
		list = append(list, group...)
	}
	results := make([]batch.Result, len(list))
	for i, m := range list {
		m.settling = true
		results[i] = m.latest()
	}
	s.calls++
	st := p.settler.Begin(p.base, batch.Times{SettleBy: by})
	stop := context.AfterFunc(p.flushing, st.Cancel)
	p.call(func() func() {
		defer stop()
		at := 0
		for _, group := range groups {
			if !results[at].Outcome.Done() {
				refs := make([]*batch.Result, len(group))
				for i := range group {
					refs[i] = &results[at+i]
				}
				st.Failed(refs)
			}
			at += len(group)
		}
		st.Finish(results)
		return func() {
			s.calls--
			for i, m := range list {
				if m.told { // the hooks have what is there
					m.Result = new(batch.Result)
				}
				*m.Result = results[i]
				m.asked = true
			}
			p.settled(list)
			p.flush(false)
		}
	})
}

// latest is m's result with the latest receipt handle.
func (m *message) latest() batch.Result {
	r := *m.Result
	r.Record = m.Record
	if r.Record.ReceiptHandle != m.handle || !r.Record.ReceivedAt.Equal(m.receivedAt) {
		record := *r.Record
		record.ReceiptHandle, record.ReceivedAt = m.handle, m.receivedAt
		r.Record = &record
	}
	return r
}

// settled takes what SQS answered.
func (p *Poller) settled(list []*message) {
	again := p.deletesFare(list)
	for _, m := range list {
		m.settling = false
		switch r := m.Result; {
		case !r.Outcome.Done():
			p.forget(m)
		case m.state == toDelete && m.handle != r.Record.ReceiptHandle:
			// It was delivered again meanwhile: a delete by the handle before
			// that has no effect, although it may be answered with success.
			r.Deleted = false
			p.settling.done = append(p.settling.done, m)
			continue
		case r.Deleted, partialfailure.StaleReceipt(r.DeleteErr):
			if m.state == toDelete {
				p.settling.backlog--
			}
			p.load.recent.add(m.Record.MessageID)
			p.forget(m)
		default:
			p.retryDelete(m)
		}
		p.tell(m)
	}
	if again {
		p.retryDue(time.Now().Add(lastRetry))
	}
}

// retryDelete has a delete made again: until it is, the record would come back.
func (p *Poller) retryDelete(m *message) {
	if m.state != toDelete { // it went to the dead-letter queue, or was dropped
		m.state = toDelete
		p.settling.backlog++
		if id := m.Record.MessageID; p.load.byID[id] == nil { // else it was received again, and is held
			p.load.byID[id] = m
		}
	}
	p.tryAgain(m)
}

// tryAgain has a delete or a release made again, less and less often.
func (p *Poller) tryAgain(m *message) {
	m.tries++
	delay := min(time.Second<<min(m.tries-1, 10), lastRetry)
	if p.phase != polling {
		delay = 500 * time.Millisecond
	}
	p.settling.again = append(p.settling.again, retry{m, time.Now().Add(delay)})
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
		case r.state == toDelete:
			s.done = append(s.done, r.message)
		default:
			s.back = append(s.back, r.message)
		}
	}
	clear(s.again[len(left):])
	s.again = left
	if len(s.done)+len(s.back) > 0 {
		p.flush(true)
	}
}

// release puts messages in line to be made visible at once, or when an abort is
// over. They go out in tens, or a moment later.
func (p *Poller) release(list []*message) {
	if len(list) == 0 {
		return
	}
	p.putOff(list)
	for _, m := range list {
		m.settling = true
	}
	p.settling.back = append(p.settling.back, list...)
	if p.endsReceives() && p.intake.calls > 0 {
		p.holdBack()
	}
	p.flush(false)
}

// closed is how long SQS may take to notice that the client of a receive has left.
const closed = 50 * time.Millisecond

// endsReceives reports whether nothing is to be received any more, or until Resume.
func (p *Poller) endsReceives() bool {
	return p.phase == draining || p.phase == polling && p.pausing
}

// holdBack ends the receives that are open when a stop or a pause begins before
// anything is given back: they would take it again, at the price of a delivery, and
// one that was just given up would hide it from everyone.
func (p *Poller) holdBack() {
	if s := &p.settling; !s.held {
		s.held = true
		p.checkHold(time.Now())
	}
}

// checkHold ends the hold when the open receives were answered or given up, or
// go on because of a Resume.
func (p *Poller) checkHold(now time.Time) {
	s := &p.settling
	if !s.held {
		return
	}
	open := p.endsReceives() && p.intake.calls > 0
	switch {
	case open && p.intake.ctx.Err() == nil && now.Before(p.intake.end(now)):
		s.holdUntil = p.intake.end(now)
		return
	case open && p.intake.ctx.Err() == nil:
		p.intake.abandon()
		s.holdUntil = now.Add(closed)
		s.holdEnds = s.holdUntil
		return
	case now.Before(s.holdEnds):
		return
	}
	s.held, s.holdUntil, s.holdEnds = false, time.Time{}, time.Time{}
	p.flush(true)
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
		var ten, left []*message
		for _, m := range s.back {
			if m.extending || len(ten) == maxEntries {
				left = append(left, m)
			} else {
				ten = append(ten, m)
			}
		}
		if len(ten) < maxEntries && !all || len(ten) == 0 {
			return
		}
		s.back = left
		p.beginRelease(ten)
	}
}

func (p *Poller) beginRelease(ten []*message) {
	s := &p.settling
	p.putOff(ten) // because of an abort that came meanwhile
	entries := make([]types.ChangeMessageVisibilityBatchRequestEntry, len(ten))
	visibleIn := make([]time.Duration, len(ten))
	backAt := make([]time.Time, len(ten))
	for i, m := range ten {
		entries[i], backAt[i] = entryOf(i, m, 0), m.backAt
	}
	s.calls++
	p.call(func() func() {
		now := time.Now()
		for i, m := range ten {
			visibleIn[i] = p.backIn(&m.receipt.Records[0], backAt[i], now)
			entries[i].VisibilityTimeout = int32(visibleIn[i] / time.Second)
		}
		errs, _ := p.changeVisibility(p.base, entries)
		return func() {
			s.calls--
			for i, m := range ten {
				m.Result.VisibleIn = visibleIn[i]
				p.released(m, errs[i])
			}
			p.flush(false)
		}
	})
}

// backIn is after how long a message is to be visible that is given back: at once; or when
// the abort that kept it from being started is over, but no sooner than after a failure,
// since this delivery counts as an attempt. first is of the record that came first of what
// was received together: those of a FIFO group come back together. It is not called on the
// loop: a backoff may be the user's code.
func (p *Poller) backIn(first *batch.Record, backAt, now time.Time) time.Duration {
	if !backAt.After(now) {
		return 0
	}
	d := max(backAt.Sub(now), p.settler.Backoff(first, now))
	d = (d + time.Second - 1).Truncate(time.Second)
	return max(0, min(d, first.ReceivedAt.Add(maxHeld-settleMargin).Sub(now).Truncate(time.Second)))
}

// released takes what SQS answered to a message that is given back.
func (p *Poller) released(m *message, err error) {
	switch {
	case err == nil:
		p.counts.Released++
		m.Result.VisibilitySet = true
	case sqserror.Gone(err), !m.visibleAt.After(time.Now()): // it is visible, or somebody else's
	default:
		p.tryAgain(m)
		return
	}
	m.settling = false
	p.forget(m)
	p.tell(m)
}

// tell notes a settled message and, when it was the last of its receipt, tells the hooks.
func (p *Poller) tell(m *message) {
	r := m.receipt
	if m.told {
		return // its delete was tried again, or the hooks know nothing of it
	}
	m.told = true
	m.Result.Record = m.Record
	if errors.Is(m.Result.Err, ErrLost) { // its handler was not called
		m.Result.Started, m.Result.Duration, m.Result.Allowed = time.Time{}, 0, 0
	}
	r.unasked = r.unasked || !m.asked && !m.Result.Outcome.Done()
	if r.open--; r.open > 0 || !r.Begun() {
		return
	}
	settled := func() {
		p.hooks.BatchSettled(context.WithoutCancel(r.Context(p.base)), r.Info, r.results)
	}
	if !r.unasked {
		p.notify(settled)
		return
	}
	by := p.nearBy()
	p.call(func() func() {
		p.settler.Near(p.flushing, by, r.results)
		return func() { p.notify(settled) }
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
	done, back := p.left()
	var parts []string
	if n := len(done); n > 0 {
		parts = append(parts, fmt.Sprintf("%d records were handled but could not be deleted (one is %s): they will be delivered again", n, done[0].Record.MessageID))
	}
	if n := len(back); n > 0 {
		parts = append(parts, fmt.Sprintf("%d records could not be made visible (one is %s): they come back when their visibility timeout is over", n, back[0].Record.MessageID))
	}
	for _, m := range append(done, back...) {
		p.tell(m)
	}
	if len(parts) > 0 {
		p.warn(batch.Warning{Message: fmt.Sprintf("queue %s: stopped, but %s", p.cfg.Queue, strings.Join(parts, ", and "))})
	}
}

// left is what could not be deleted, and what could not be made visible.
func (p *Poller) left() (done, back []*message) {
	s := &p.settling
	for _, m := range p.load.byID {
		if m.state == toDelete {
			done = append(done, m)
		}
	}
	for _, group := range s.failed {
		back = append(back, group...)
	}
	back = append(back, s.back...)
	for _, r := range s.again {
		if r.state != toDelete {
			back = append(back, r.message)
		}
	}
	return done, back
}

// Bounds of the messages that are done and wait for their deletion, beside as
// many as there are slots. Above them nothing is received or started: what is
// handled and cannot be deleted is handled again.
const (
	maxBacklog = 400 // while deletes work: more than maxSettling calls have in them
	maxInVain  = 100 // while none does, or none did lately
	lately     = time.Second
)

// deletes is how deleting fares.
type deletes struct {
	line    line
	worked  time.Time // the latest time
	refused bool      // since the latest call: no further try soon will help
}

// deletesFare takes what SQS answered to deletes, and reports whether what waits
// for its next try may have it now, since they work again.
func (p *Poller) deletesFare(list []*message) (again bool) {
	var failed error
	works, refused := false, false
	for _, m := range list {
		switch r := m.Result; {
		case !r.Outcome.Done():
		case r.Deleted, partialfailure.StaleReceipt(r.DeleteErr):
			works = true
		case !refused:
			failed, refused = r.DeleteErr, unlikelyToPass(r.DeleteErr)
		}
	}
	d, now := &p.settling.deletes, time.Now()
	switch {
	case works:
		again = d.refused || d.line.failingFor(now) >= goesOn
		d.worked, d.refused = now, false
		if tell, after := d.line.works(now); tell {
			p.warn(batch.Warning{Message: fmt.Sprintf("queue %s: deleting works again, %s", p.cfg.Queue, after)})
		}
	case failed != nil && p.phase == polling:
		p.deletesFail(now, failed, refused)
	}
	return again
}

// deletesFail notes that none of a call's deletes worked.
func (p *Poller) deletesFail(now time.Time, err error, refused bool) {
	d := &p.settling.deletes
	d.refused = refused
	p.trouble.last, p.trouble.lastT = err.Error(), now
	if !d.line.fails(now, p.deletesHold(now)) {
		return
	}
	text := advice(err)
	if sqserror.KindOf(sqserror.Code(err)) == sqserror.Denied {
		text = "the role lacks sqs:DeleteMessage on the queue"
	}
	if p.deletesHold(now) {
		text += "; nothing is received or started until a delete works"
	}
	until := "this process ends"
	if p.cfg.NoHeartbeat {
		until = "their visibility timeout is over"
	}
	p.warn(batch.Warning{Err: err, Serious: refused || d.line.serious(now), Message: fmt.Sprintf(
		"queue %s: deleting fails%s: %s; %d records that were handled are not deleted, and will be delivered again when %s",
		p.cfg.Queue, d.line.soFar(now), text, p.settling.backlog, until)})
}

// deletesHold reports whether nothing is received or started, because of what
// could not be deleted.
func (p *Poller) deletesHold(now time.Time) bool {
	d, n := &p.settling.deletes, p.settling.backlog
	if d.refused {
		return n > 0
	}
	if d.line.since.IsZero() && now.Sub(d.worked) < lately {
		return n >= maxBacklog+p.cfg.Engine.Concurrency
	}
	return n >= maxInVain+p.cfg.Engine.Concurrency
}

// unlikelyToPass reports whether an error is none that another try a second
// later may mend, such as a permission that lacks.
func unlikelyToPass(err error) bool {
	switch sqserror.KindOf(sqserror.Code(err)) {
	case sqserror.NoQueue, sqserror.InvalidAddress, sqserror.Denied, sqserror.Key, sqserror.KeyDenied, sqserror.Credentials,
		sqserror.Expired, sqserror.Unsupported:
		return true
	}
	return false
}
