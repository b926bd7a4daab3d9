package runner

import "time"

// cutoff returns when d's handler must be done; zero if only its own timeout limits it.
func (r *Runner) cutoff(d *Delivery) time.Time {
	if d.Within > 0 {
		return d.Record.ReceivedAt.Add(d.Within)
	}
	return r.options.Times.Cutoff
}

// enoughTime reports whether enough time is left to start d.
func (r *Runner) enoughTime(d *Delivery, now time.Time) bool {
	cutoff := r.cutoff(d)
	return cutoff.IsZero() || r.pace.enough(cutoff.Sub(now), r.cfg.MinRemaining)
}

// deadlineOf is the deadline of d, which starts now; zero if it has none.
func (r *Runner) deadlineOf(d *Delivery, now time.Time) time.Time {
	cutoff := r.cutoff(d)
	allowed := r.cfg.RecordTimeout
	switch {
	case cutoff.IsZero() && allowed == 0:
		return time.Time{}
	case cutoff.IsZero():
		return now.Add(allowed)
	}
	remaining := cutoff.Sub(now)
	if allowed == 0 {
		allowed = remaining
	}
	if d.Last && d.next != nil {
		allowed = min(allowed, r.leaving(remaining, d))
	}
	if allowed < remaining {
		return now.Add(allowed)
	}
	return cutoff
}

// sendTime is what a send to the dead-letter queue may take.
const sendTime = 250 * time.Millisecond

// leaving is how much of the remaining time a record may have at its last attempt while
// others of its FIFO group wait behind it: so much that each of those can still be
// handled when it has failed or hung, and was sent to the dead-letter queue, since they
// would be moved there unhandled. But it may have half of what remains, and twice what a
// record is expected to take, at least.
func (r *Runner) leaving(remaining time.Duration, d *Delivery) time.Duration {
	behind := 0
	for next := d.next; next != nil; next = next.next {
		behind++
	}
	each := r.pace.expected(r.cfg.MinRemaining)
	most := remaining - time.Duration(behind)*each - r.cfg.Grace - sendTime
	return min(remaining, max(most, remaining/2, 2*each))
}
