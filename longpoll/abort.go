package longpoll

import (
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/sqsbatch/sqsbatch/batch"
)

// heed puts off what was not started if a handler said that it could only fail as
// well ([batch.Abort]): what waits comes back after that time, and nothing is
// received until then. What runs goes on, and then one record is tried alone, see
// probing. The caller holds the lock, and perhaps that of a batch.
//
// The time is what SQS can hide a message for: whole seconds, 12 hours at most.
// With none, what waits would only be received again at once, at the price of a
// delivery: it stays.
func (p *Poller) heed(r *batch.Result) {
	v := batch.VerdictOf(r.Err)
	after := (min(v.After, maxHeld) + time.Second - 1).Truncate(time.Second)
	now := time.Now()
	until := r.Started.Add(r.Duration + after) // from then on, however long it took to bury the record
	if !v.Aborts || p.phase != polling || !until.After(now) || !until.After(p.abortedUntil) {
		return
	}
	if !p.aborted(now) {
		p.warn(batch.Warning{Err: r.Err, Message: fmt.Sprintf(
			"queue %s: a handler asks to wait (batch.Abort): nothing is received or started for %v", p.cfg.Queue, after)})
	}
	longer := until.Sub(p.abortedUntil) >= time.Second
	p.abortedUntil = until
	p.probeFor(min(after, maxProbe))
	if !longer {
		return // all has been put off: of a chunk of package bulk each record says the same
	}
	p.releaseAll(p.takeWaiting())
	why := fmt.Errorf("%w: %w: %w", batch.ErrNotStarted, batch.ErrAborted, &batch.AbortError{After: after, Err: r.Err})
	for c := range p.load.begun {
		c.aborted = why
	}
	running := p.runningBatches() // of a FIFO group only the record that runs goes on
	p.routines.Go(func() {
		for _, b := range running {
			b.Stop()
		}
	})
}

// putOff is when a message comes back that an abort keeps from being started: when the
// abort is over, but no sooner than after a failure, since this delivery counts as an
// attempt. What came together of a FIFO group comes back together.
func (p *Poller) putOff(o outcome, now time.Time) time.Time {
	back := now.Add(p.settler.Backoff(&o.chain.records[0], now))
	if back.Before(p.abortedUntil) {
		return p.abortedUntil
	}
	return back
}

// aborted reports whether nothing is to be received or started at the moment.
func (p *Poller) aborted(now time.Time) bool { return now.Before(p.abortedUntil) }

func (p *Poller) stopAbortTimer() {
	if p.abortTimer != nil {
		p.abortTimer.Stop()
	}
}

// backEntry is the entry that gives a message back: visible at once, or when
// an abort is over.
func backEntry(i int, o outcome, now time.Time) (e types.ChangeMessageVisibilityBatchRequestEntry, d time.Duration) {
	if o.backAt.After(now) {
		d = (o.backAt.Sub(now) + time.Second - 1).Truncate(time.Second)
		d = max(0, min(d, o.receivedAt.Add(maxHeld-settleMargin).Sub(now).Truncate(time.Second)))
	}
	return entryOf(i, o.message, d), d
}
