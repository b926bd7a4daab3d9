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

// load is the set of messages that this poller holds.
type load struct {
	held int // messages in the runner
	// byID has every message from its receipt until it is settled.
	byID   map[string]*runner.Delivery
	recent recent
	// replaced are messages that were received again while they were Returning.
	replaced []*runner.Delivery
	// noExtension is the time until which extending waits after a failure.
	noExtension time.Time

	pace Pace
}

// Pace is how fast records are handled. The zero value has seen none.
type Pace struct {
	handled []time.Time   // when the latest records were handled, for ahead
	took    time.Duration // how long their handlers took on average
}

// Prefetching: records are received ahead if slots will soon be free for them, judged by
// how long the latest handlers took.
const (
	horizon     = time.Second            // for up to as many records as there are slots
	slowReceive = 100 * time.Millisecond // for more than that: slots must not idle during a slow receive
)

// ahead returns how many records may wait for a slot.
func (p *Pace) ahead(now time.Time, slots, most int) int {
	p.handled = p.handled[p.handledBefore(now.Add(-horizon)):]
	n := min(len(p.handled), max(slots, maxReceive))
	lately := len(p.handled) - p.handledBefore(now.Add(-slowReceive))
	if p.took > 0 { // slow records, too, may finish all at the same time
		n = min(n, int(time.Duration(slots)*horizon/p.took))
		lately = min(lately, int(time.Duration(slots)*slowReceive/p.took))
	}
	return min(most, max(n, lately))
}

// handledBefore returns the number of records in handled that are older than t.
func (p *Pace) handledBefore(t time.Time) int {
	n, _ := slices.BinarySearchFunc(p.handled, t, time.Time.Compare)
	return n
}

// Done counts n messages that are finished now. took is the duration of the first one's handler. At
// most the latest most are kept.
func (p *Pace) Done(now time.Time, n, most int, took time.Duration) {
	if p.took == 0 {
		p.took = took
	}
	p.took += (took - p.took) / 16
	for range n {
		p.handled = append(p.handled, now)
	}
	if extra := len(p.handled) - most; extra > 0 {
		p.handled = p.handled[extra:]
	}
}

// done counts n messages that the runner has finished.
func (l *load) done(n, most int, took time.Duration) {
	l.held -= n
	l.pace.Done(time.Now(), n, most, took)
}

// repeats handles a message that is already held, or was handled here. It returns false for
// any other message. SQS delivers a message again if its visibility could not be extended,
// and standard queues sometimes without a reason. A held message goes on with the new
// receipt handle. A handled message is deleted with the new receipt handle and is not
// handled again.
func (p *Poller) repeats(again types.Message, at time.Time, a apart) bool {
	id := aws.ToString(again.MessageId)
	d := p.load.byID[id]
	if d == nil && !p.load.recent.has(id) || d != nil && d.State == runner.Returning {
		return false
	}
	p.counts.Repeated++
	latest := p.deliveriesOf([]types.Message{again}, at, a)[0]
	if d != nil {
		p.runner.Renew(d, latest)
		return true
	}
	latest.State, latest.Notified = runner.Deleting, true // the hooks have not seen this delivery
	latest.Result.Outcome = batch.Succeeded
	p.load.byID[id] = latest
	p.enqueueDelete(latest)
	return true
}

// hold gives received messages to the runner. If none may start now, the runner is paused,
// and the same step of the loop releases them.
func (p *Poller) hold(list []*runner.Delivery) {
	for _, d := range list {
		if old := p.load.byID[d.Record.MessageID]; old != nil { // it is Returning, and SQS shows it already
			p.load.replaced = append(p.load.replaced, old)
		}
		p.load.byID[d.Record.MessageID] = d
	}
	p.load.held += len(list)
	p.runner.Add(list...)
}

// finished settles a delivery that the runner has finished.
func (p *Poller) finished(d *runner.Delivery) {
	p.applyAbort(d)
	if !d.Result.Outcome.Done() {
		p.failedGroup(d)
	} else { // handled, dropped or dead-lettered
		if d.State = runner.Deleting; d.Result.Outcome.OK() {
			p.counts.Succeeded++
		} else {
			p.counts.Failed++
		}
		p.load.done(1, p.cfg.Prefetch, d.Result.Duration)
		p.enqueueDelete(d)
	}
	if p.aborts.trial(time.Now()) {
		p.aborts.endTrial(d)
	}
}

// failedGroup settles a failed record, and the records of its group that were skipped
// because of it.
func (p *Poller) failedGroup(head *runner.Delivery) {
	n := 0
	for d := range head.Group() {
		d.State = runner.Returning
		n++
	}
	switch r := head.Result; {
	case r.Outcome == batch.NotStarted: // too little of its time was left, or it was taken back behind others of its chunk
		p.load.held -= n
		p.release(slices.Collect(head.Group()))
		return
	case head.Verdict.Lost:
		p.checkLapsed(head, time.Now())
		head.Lost = true
	default:
		if r.Outcome != batch.InProgress { // it only waits
			p.counts.Failed++
		}
		if r.Outcome == batch.Abandoned {
			p.counts.Abandoned++
		}
	}
	p.load.done(n, p.cfg.Prefetch, head.Result.Duration)
	p.settleFailed(head)
}

// decide asks the settler to dead-letter a failed record, so that its group can go
// on. During a stop the record and its group fail at once, because the stop may have caused
// the failure.
func (p *Poller) decide(d *runner.Delivery) {
	p.applyAbort(d)
	if p.stopping.Err() != nil || p.checkLapsed(d, time.Now()) { // SQS may have moved it itself
		d.Resolve(false)
		return
	}
	p.settler.DeadLetter(d)
}

// releaseWaiting releases waiting records if they must not wait here.
func (p *Poller) releaseWaiting(now time.Time) {
	if p.load.held > 0 && p.mustRelease(now) && p.runner.Count().Waiting > 0 {
		why := p.aborts.reason(now)
		p.releaseUnstarted(p.runner.Withdraw(why), why)
	}
}

// releaseUnstarted releases records that were not started. Their error is why.
func (p *Poller) releaseUnstarted(list []*runner.Delivery, why error) {
	var back []*runner.Delivery
	now := time.Now()
	for _, d := range list {
		d.State = runner.Returning
		d.Result.Outcome, d.Result.Err = batch.NotStarted, why
		if p.checkLapsed(d, now); d.HiddenUntil.After(now) {
			back = append(back, d)
		} else {
			p.settled(d)
		}
	}
	p.load.held -= len(list)
	p.release(back)
}

// checkLapsed reports whether others may have received d, and counts the record as lost the
// first time.
func (p *Poller) checkLapsed(d *runner.Delivery, now time.Time) bool {
	if !d.Lost && d.Lapsed(now) {
		d.Lost = true
		p.counts.Lost++
	}
	return d.Lost
}

// MaxWaiting is how long a record of a standard queue may wait for a slot.
const MaxWaiting = 20 * time.Second

// releaseOld releases records that have waited too long behind slow ones, since another
// task may have a free slot. Records of FIFO queues stay, because running records lock
// their groups.
func (p *Poller) releaseOld(now time.Time) {
	if !p.fifo() && p.runner.Count().Ready > 0 {
		p.releaseUnstarted(p.runner.WithdrawOlder(now.Add(-MaxWaiting)), batch.ErrStopped)
	}
}

// revoke gives up a message whose extension SQS refused. A handled message may be gone
// because a delete worked although its answer was lost.
func (p *Poller) revoke(d *runner.Delivery) {
	behind := p.runner.Revoke(d)
	if d.State >= runner.Finished {
		return
	}
	p.counts.Lost++
	p.warn(batch.Warning{MessageID: d.Record.MessageID, Message: "SQS did not extend the record's visibility, " +
		"so others may receive it. Its handler here is cancelled, or not started. Possible causes: this process was suspended, the message was deleted, or an SQS emulator restarted"})
	p.releaseUnstarted(behind, errGroupLost)
	if !p.settler.Sending(d) { // others may succeed with it, so it must not go to the dead-letter queue
		d.Resolve(false)
	}
}

// errGroupLost is the error of a record that was not started because an earlier record of
// its group was lost.
var errGroupLost = fmt.Errorf("%w: others may have received it, or an earlier record of its group", batch.ErrNotStarted)

// MaxTrial is the longest time for which one record is tried alone. A record that takes
// longer does not show that a dependency is down.
const MaxTrial = 10 * time.Second

// applyAbort applies the abort of a record, if its handler asked for one. Until the time that it
// asked for, nothing is received, and waiting records are released. Running handlers go on.
//
// The time is rounded to what SQS can hide a message for: whole seconds, 12 hours at most.
// If it is 0, waiting records stay: SQS would deliver them again at once, which costs each
// of them an attempt.
func (p *Poller) applyAbort(d *runner.Delivery) {
	if !d.Verdict.Aborts {
		return
	}
	r, now, a := d.Result, time.Now(), &p.aborts
	after := settle.WholeSeconds(d.Verdict.After)
	until := r.Started.Add(r.Duration + after) // counted from the failure, however long it took to dead-letter the record
	if p.phase != polling || !until.After(now) || !until.After(a.until) {
		return
	}
	if !a.on(now) {
		p.warn(batch.Warning{Err: r.Err, Message: fmt.Sprintf(
			"queue %s: a handler asks to wait (batch.Abort): nothing is received or started for %v", p.cfg.Queue, after)})
	}
	a.until, a.trialUntil = until, until.Add(min(after, MaxTrial))
	p.settler.Postpone(until)
	a.why = fmt.Errorf("%w: %w: %w", batch.ErrNotStarted, batch.ErrAborted, batch.Abort(after, r.Err))
}

// endTrial ends the trial if d was started after the abort and has ended without another
// one.
func (a *aborts) endTrial(d *runner.Delivery) {
	if !d.Result.Started.Before(a.until) && !d.Verdict.Lost {
		a.trialUntil = time.Time{}
	}
}
