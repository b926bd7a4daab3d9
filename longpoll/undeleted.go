package longpoll

import (
	"fmt"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// Bounds of the records that are done and wait for their deletion, beside as
// many as there are slots. Above them nothing is received or started: what is
// handled and cannot be deleted is handled again.
const (
	maxBacklog = 400 // while deletes work: more than maxSettling calls have in them
	maxInVain  = 100 // while none does, or none did lately
	lately     = time.Second
)

// deletes is how deleting fares; the poller's lock guards it.
type deletes struct {
	line    line
	worked  time.Time // the latest time
	refused bool      // since the latest call: no further try soon will help
}

// deletesFare takes what SQS answered to deletes, and reports whether what waits
// for its next try may have it now, since they work again.
func (p *Poller) deletesFare(list []outcome) (again bool) {
	var failed error
	works, refused := false, false
	for i := range list {
		r := &list[i].result
		switch {
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
		if len(p.load.waiting) > 0 && p.load.running < p.cfg.Engine.Concurrency {
			p.routines.Go(p.pump)
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
	if refused {
		p.releaseAll(p.takeWaiting()) // what is handled now is handled in vain
	}
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
