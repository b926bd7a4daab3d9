package longpoll

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
)

// enqueueDelete passes a message to the settler to be deleted.
func (p *Poller) enqueueDelete(d *runner.Delivery) {
	p.undeleted++
	p.settler.Delete(d)
}

// settleFailed settles a failure, and the messages that were skipped because of it.
func (p *Poller) settleFailed(head *runner.Delivery) {
	switch {
	case p.settler.Sending(head): // it is being sent, and a stop gives that up: SQS's answer to the send decides
		p.settler.Fail(head)
	case head.Lost: // others may have it already: the messages after it must wait for them
		p.settler.Leave(head)
		p.release(slices.Collect(head.Group())[1:])
	case p.cutOff(head):
		p.release(slices.Collect(head.Group()))
	case p.phase > draining && head.Result.Outcome == batch.Abandoned: // its handler may still be running: leave it until its visibility timeout ends
		p.settler.Leave(slices.Collect(head.Group())...)
	default:
		p.settler.Fail(head)
	}
}

// cutOff reports whether a record failed because the poller stopped. Such a record becomes
// visible at once, without backoff, unless its error has a verb.
func (p *Poller) cutOff(d *runner.Delivery) bool {
	if p.stopping.Err() == nil || d.Verdict.Permanent || d.Verdict.HasAfter {
		return false
	}
	return d.Verdict.Stopped || p.phase > draining && d.Verdict.Canceled
}

// release makes messages visible at once, or when an abort is over.
func (p *Poller) release(list []*runner.Delivery) {
	p.releases = append(p.releases, list...)
	if len(list) > 0 && p.endsReceives() {
		p.intake.endSoon(time.Now())
	}
}

// settleReleases gives releases to the settler. A release that must wait for the end of open receives, or
// for the answer to an extension, stays.
func (p *Poller) settleReleases(now time.Time) {
	p.releases = slices.DeleteFunc(p.releases, func(d *runner.Delivery) bool {
		goes := !d.Extending && !p.intake.ending(now)
		if goes {
			p.settler.Release(d)
		}
		return goes
	})
}

// flush starts the settler's calls: one when ten deliveries wait for it, or a moment later, but at
// once if no running record could join it.
func (p *Poller) flush(now time.Time) {
	if p.settler == nil {
		return
	}
	p.settleReleases(now)
	p.settler.Flush(p.phase == settling || p.load.held == 0 && !p.mustRelease(now))
}

// settled forgets a message with which the settler is finished. A record that was
// dead-lettered or dropped is deleted first.
func (p *Poller) settled(d *runner.Delivery) {
	r, id := d.Result, d.Record.MessageID
	switch {
	case d.State == runner.Deleting:
		p.undeleted--
		p.load.recent.add(id)
	case r.Outcome.Done(): // it went to the dead-letter queue, or was dropped
		d.State = runner.Deleting
		if p.load.byID[id] == nil { // otherwise it was received again, and is held
			p.load.byID[id] = d
		}
		p.enqueueDelete(d)
		return
	case r.Outcome == batch.NotStarted && r.VisibilitySet:
		p.counts.Released++
	}
	if p.load.byID[id] == d {
		delete(p.load.byID, id)
	} else {
		p.load.replaced = slices.DeleteFunc(p.load.replaced, func(other *runner.Delivery) bool { return other == d })
	}
	p.notifySettled(d)
}

// notifySettled notifies the hooks of a message that is settled, or whose call failed although it
// is tried again.
func (p *Poller) notifySettled(d *runner.Delivery) {
	if d.Notified {
		return // its delete was retried, or the hooks have not seen it
	}
	d.Notified = true
	r := *d.Result
	r.Record = d.Record
	if d.Verdict.Lost {
		r.Started, r.Duration, r.Allowed = time.Time{}, 0, 0
	}
	p.outcomes.Notify(func() {
		info := batch.BatchInfo{Records: 1, QueueARN: r.Record.QueueARN, Started: r.Started}
		p.hooks.BatchSettled(context.WithoutCancel(d.BatchContext()), info, []batch.Result{r})
	})
}

// reportLeft warns of the records that a stop could not settle, including those whose calls
// were open at its end.
func (p *Poller) reportLeft() {
	var done, back []*runner.Delivery
	for _, id := range slices.Sorted(maps.Keys(p.load.byID)) { // sorted: the same text each time
		switch d := p.load.byID[id]; d.State {
		case runner.Deleting:
			done = append(done, d)
		case runner.Returning:
			back = append(back, d)
		}
	}
	var parts []string
	if n := len(done); n > 0 {
		parts = append(parts, fmt.Sprintf("%d records were handled but could not be deleted (one is %s): they will be delivered again", n, done[0].Record.MessageID))
	}
	if n := len(back); n > 0 {
		parts = append(parts, fmt.Sprintf("%d records could not be made visible (one is %s): they come back when their visibility timeout is over", n, back[0].Record.MessageID))
	}
	for _, d := range slices.Concat(done, back, p.load.replaced) {
		p.notifySettled(d)
	}
	if len(parts) > 0 {
		p.warn(batch.Warning{Message: fmt.Sprintf("queue %s: stopped, but %s", p.cfg.Queue, strings.Join(parts, ", and "))})
	}
}

// deleted handles the answer to a call that deletes. Hooks are notified of a record when
// its first delete fails, although the settler retries the delete.
func (p *Poller) deleted(list []*runner.Delivery, errs []error) {
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
	for k, d := range list {
		if errs[k] != nil && !d.Notified {
			d.Result.DeleteErr = errs[k]
			p.notifySettled(d)
		}
	}
}
