package longpoll

import (
	"fmt"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/settle"
)

// maxTrial is the longest time for which one record is tried alone. A record that takes
// longer does not show that a dependency is down.
const maxTrial = 10 * time.Second

// applyAbort applies the abort of a record, if its handler asked for one. Until the time that it
// asked for, nothing is received, and waiting records are released. Running handlers go on.
//
// The time is rounded to what SQS can hide a message for: whole seconds, 12 hours at most.
// If it is 0, waiting records stay: SQS would deliver them again at once, which costs each
// of them an attempt.
func (p *Poller) applyAbort(m *message) {
	if !m.Verdict.Aborts {
		return
	}
	r, now, a := m.Result, time.Now(), &p.aborts
	after := settle.WholeSeconds(m.Verdict.After)
	until := r.Started.Add(r.Duration + after) // counted from the failure, however long it took to dead-letter the record
	if p.phase != polling || !until.After(now) || !until.After(a.until) {
		return
	}
	if !a.on(now) {
		p.warn(batch.Warning{Err: r.Err, Message: fmt.Sprintf(
			"queue %s: a handler asks to wait (batch.Abort): nothing is received or started for %v", p.cfg.Queue, after)})
	}
	a.until, a.trialUntil = until, until.Add(min(after, maxTrial))
	p.settler.Postpone(until)
	a.why = fmt.Errorf("%w: %w: %w", batch.ErrNotStarted, batch.ErrAborted, batch.Abort(after, r.Err))
}

// endTrial ends the trial if m was started after the abort and has ended without another
// one.
func (a *aborts) endTrial(m *message) {
	if !m.Result.Started.Before(a.until) && !m.Verdict.Lost {
		a.trialUntil = time.Time{}
	}
}
