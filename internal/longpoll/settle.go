package longpoll

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/settle"
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
)

// returning holds messages that come back together: a failure with the messages that were
// skipped because of it, or one message that was not started.
type returning struct {
	list   []*message
	failed bool
}

// extending reports whether an extension of one of the messages is open. A visibility that
// is set before SQS has answered the extension could be undone by it.
func (c returning) extending() bool {
	return slices.ContainsFunc(c.list, func(m *message) bool { return m.extending })
}

// enqueueDelete has the settler delete a message.
func (p *Poller) enqueueDelete(m *message) {
	p.undeleted++
	p.settler.Delete(&m.Entry)
}

// settleFailed settles a failure, and the messages that were skipped because of it.
func (p *Poller) settleFailed(group []*message) {
	switch first := group[0]; {
	case !p.settler.Withdraw(&first.Entry):
		// It is being sent, and a stop gives that up: SQS's answer to the send decides. No
		// extension has to end first, because settleLast ends all of them in this step.
		p.settleGroup(group)
	case first.Lost: // others may have it already: the messages after it must wait for them
		p.settler.Leave(&first.Entry)
		p.release(group[1:])
	case p.cutOff(first):
		p.release(group)
	case p.phase > draining && first.Result.Outcome == batch.Abandoned: // its handler may still be running: leave it until its visibility timeout ends
		p.settler.Leave(entriesOf(group)...)
	default:
		p.returning = append(p.returning, returning{group, true})
	}
}

// cutOff reports whether a record failed because the poller stopped. Such a record becomes
// visible at once, without backoff, unless its error has a verb.
func (p *Poller) cutOff(m *message) bool {
	if p.stopping.Err() == nil || m.Verdict.Permanent || m.Verdict.HasAfter {
		return false
	}
	return m.Verdict.Stopped || p.phase > draining && m.Verdict.Canceled
}

// release makes messages visible at once, or when an abort is over.
func (p *Poller) release(list []*message) {
	for _, m := range list {
		p.returning = append(p.returning, returning{list: []*message{m}})
	}
	if len(list) > 0 && p.endsReceives() {
		p.intake.endSoon(time.Now())
	}
}

// handOver gives returning messages to the settler. Messages that must wait for the answer
// to an extension, or for the end of open receives, stay.
func (p *Poller) handOver(now time.Time) {
	p.returning = slices.DeleteFunc(p.returning, func(c returning) bool {
		switch m := c.list[0]; {
		case c.extending() || !c.failed && p.intake.ending(now):
			return false
		case c.failed:
			p.settleGroup(c.list)
		case p.phase == polling:
			p.settler.Release(&m.Entry, m.first, m.HiddenUntil)
		default: // at once, although an abort may go on
			p.settler.Release(&m.Entry, nil, m.HiddenUntil)
		}
		return true
	})
}

// settleGroup gives the settler a failure, and the messages that were skipped because of it.
func (p *Poller) settleGroup(group []*message) {
	var hiddenUntil time.Time
	for _, m := range group {
		if m.extended.After(hiddenUntil) {
			hiddenUntil = m.extended
		}
	}
	p.settler.Fail(hiddenUntil, entriesOf(group)...)
}

func entriesOf(group []*message) (list []*settle.Entry) {
	for _, m := range group {
		list = append(list, &m.Entry)
	}
	return list
}

// flush has the settler start its calls. A call starts when it has ten entries or a moment
// later, but at once if no running record could join it.
func (p *Poller) flush(now time.Time) {
	if p.settler == nil {
		return
	}
	p.handOver(now)
	p.settler.Flush(p.phase == settling || p.load.held == 0 && !p.givesBack(now))
}

// settled forgets a message with which the settler is finished. A record that was
// dead-lettered or dropped is deleted first.
func (p *Poller) settled(m *message) {
	r, id := m.Result, m.Record.MessageID
	switch {
	case m.state == toDelete:
		p.undeleted--
		p.load.recent.add(id)
	case r.Outcome.Done(): // it went to the dead-letter queue, or was dropped
		m.state = toDelete
		if p.load.byID[id] == nil { // otherwise it was received again, and is held
			p.load.byID[id] = m
		}
		p.enqueueDelete(m)
		return
	case r.Outcome == batch.NotStarted && r.VisibilitySet:
		p.counts.Released++
	}
	if p.load.byID[id] == m {
		delete(p.load.byID, id)
	} else {
		p.load.replaced = slices.DeleteFunc(p.load.replaced, func(other *message) bool { return other == m })
	}
	p.notifySettled(m)
}

// notifySettled notifies the hooks of a message that is settled, or whose call failed although it
// is tried again.
func (p *Poller) notifySettled(m *message) {
	if m.notified {
		return // its delete was retried, or the hooks have not seen it
	}
	m.notified = true
	r := *m.Result
	r.Record = m.Record
	if m.Verdict.Lost {
		r.Started, r.Duration, r.Allowed = time.Time{}, 0, 0
	}
	p.outcomes.Notify(func() {
		info := batch.BatchInfo{Records: 1, QueueARN: r.Record.QueueARN, Started: r.Started}
		p.hooks.BatchSettled(context.WithoutCancel(m.BatchContext()), info, []batch.Result{r})
	})
}

// reportLeft warns of the records that a stop could not settle, including those whose calls
// were open at its end.
func (p *Poller) reportLeft() {
	var done, back []*message
	for _, m := range p.load.byID {
		switch m.state {
		case toDelete:
			done = append(done, m)
		case toReturn:
			back = append(back, m)
		}
	}
	var parts []string
	if n := len(done); n > 0 {
		parts = append(parts, fmt.Sprintf("%d records were handled but could not be deleted (one is %s): they will be delivered again", n, done[0].Record.MessageID))
	}
	if n := len(back); n > 0 {
		parts = append(parts, fmt.Sprintf("%d records could not be made visible (one is %s): they come back when their visibility timeout is over", n, back[0].Record.MessageID))
	}
	for _, m := range slices.Concat(done, back, p.load.replaced) {
		p.notifySettled(m)
	}
	if len(parts) > 0 {
		p.warn(batch.Warning{Message: fmt.Sprintf("queue %s: stopped, but %s", p.cfg.Queue, strings.Join(parts, ", and "))})
	}
}

// deleted handles the answer to a call that deletes. Hooks are notified of a record when
// its first delete fails, although the settler retries the delete.
func (p *Poller) deleted(list []*settle.Entry, errs []error) {
	t := &p.trouble
	switch err := failure(errs); {
	case err == nil:
		t.refused = false
		p.works(&t.deleting, "deleting")
	case p.phase == polling:
		t.refused = sqserror.Lasts(err) || sqserror.Of(err) == sqserror.Expired
		consequence := fmt.Sprintf("%d records that were handled will be delivered again, unless a later try deletes them", p.undeleted)
		if p.deletesHold() {
			consequence += "; nothing is received or started until a delete succeeds"
		}
		p.failed(&t.deleting, t.refused, "deleting fails", err, consequence)
	}
	for k, e := range list {
		if m := e.Owner.(*message); errs[k] != nil && !m.notified {
			m.Result.DeleteErr = errs[k]
			p.notifySettled(m)
		}
	}
}
