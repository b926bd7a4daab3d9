package longpoll

import (
	"cmp"
	"slices"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/internal/settle"
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
)

// sweep extends held messages that are due, and releases messages that have waited too
// long.
func (p *Poller) sweep(now time.Time) {
	if p.phase < polling || now.Before(p.sweepAt) {
		return
	}
	p.sweepAt = now.Add(SweepEvery(p.queue.visibility))
	p.extendDue(now)
	p.releaseOld(now)
}

// SweepEvery returns how often messages are looked at for extensions and releases.
func SweepEvery(visibility time.Duration) time.Duration { return min(time.Second, visibility/12) }

// ExtendBelow returns the remaining visibility at which a message is due to be extended.
func ExtendBelow(visibility time.Duration) time.Duration { return visibility * 2 / 3 }

// extendDue extends the visibility of held messages that are due, ten in a call. Those that SQS
// would show first go first: while extending fails, no others are tried.
func (p *Poller) extendDue(now time.Time) {
	if p.beat.Err() != nil || now.Before(p.load.noExtension) {
		return
	}
	var due []*runner.Delivery
	for _, d := range p.load.byID {
		if d.State != runner.Returning && !d.Lost && !d.Extending && p.extension(d, now) > 0 {
			due = append(due, d)
		}
	}
	slices.SortFunc(due, func(a, b *runner.Delivery) int {
		return cmp.Or(a.HiddenUntil.Compare(b.HiddenUntil), cmp.Compare(a.Record.MessageID, b.Record.MessageID))
	})
	if p.trouble.extending.tries > 0 {
		due = due[:min(len(due), settle.MaxEntries)] // one call shows whether it works again
	}
	for ten := range slices.Chunk(due, settle.MaxEntries) {
		p.extend(ten, now)
	}
}

// extension returns the new visibility timeout of d, or 0 if d is not due. It is due once a
// third of its timeout is over. SQS allows 12 hours from receipt in total.
func (p *Poller) extension(d *runner.Delivery, now time.Time) time.Duration {
	left := d.Latest.ReceivedAt.Add(settle.MaxVisibility - settleMargin).Sub(now)
	longest := settle.WholeSeconds(d.ShownBy.Sub(now)) // after an answer that is missing
	timeout := min(max(p.queue.visibility, longest), left.Truncate(time.Second))
	if d.HiddenUntil.Sub(now) > ExtendBelow(p.queue.visibility) || !now.Add(timeout).After(d.HiddenUntil) {
		return 0
	}
	return timeout
}

// extend makes a call that extends the visibility of up to ten messages.
func (p *Poller) extend(list []*runner.Delivery, now time.Time) {
	records, timeouts := make([]*batch.Record, len(list)), make([]time.Duration, len(list))
	for i, d := range list {
		records[i], timeouts[i] = d.Latest, p.extension(d, now)
		d.Extending, d.ShownBy = true, now.Add(timeouts[i])
	}
	p.counts.Extensions++
	p.call(func() func() {
		errs := p.policy.SetVisibility(p.beat, p.queue.arn, records, timeouts, p.called)
		return func() { p.extended(list, records, errs) }
	})
}

// extended handles the answer to an extension. While SQS does not answer, handlers go on,
// even after their visibility timeout: only SQS's first answer shows whether a record was
// lost.
func (p *Poller) extended(list []*runner.Delivery, records []*batch.Record, errs []error) {
	now := time.Now()
	for i, d := range list {
		d.Extending = false
		switch err := errs[i]; {
		case d.Latest != records[i]: // it was delivered again before the answer
		case err != nil && !sqserror.Gone(err): // the next sweep tries again
		// A standard queue accepts the change even after the timeout is over. It does not
		// say who has the message then.
		case err != nil, !p.fifo() && !now.Before(d.HiddenUntil):
			if d.State != runner.Returning && p.load.byID[d.Record.MessageID] == d {
				p.revoke(d)
			}
		default:
			d.HiddenUntil = d.ShownBy
		}
	}
	p.extensionsFare(errs)
}

// extensionsFare notes whether a call to extend succeeded. After a failure the next call
// waits for 5 s at most, so that eight tries or more fit into the visibility timeout.
func (p *Poller) extensionsFare(errs []error) {
	t := &p.trouble
	switch err := failure(errs); {
	case p.beat.Err() != nil:
	case err == nil:
		p.load.noExtension = time.Time{}
		p.works(&t.extending, "extending the records' visibility")
	default:
		p.load.noExtension = time.Now().Add(min(p.queue.visibility/12, 5*time.Second) * 3 / 4)
		p.failed(&t.extending, false, "extending the records' visibility fails", err, "others may receive them while they are handled here")
	}
}
