package runner

import (
	"slices"
	"time"
)

// cutoff returns when d's handler must be done; zero if only its own timeout limits it.
func (r *Runner) cutoff(d *Delivery) time.Time {
	if d.Within > 0 {
		return d.Record.ReceivedAt.Add(d.Within)
	}
	return r.options.Times.Cutoff
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
		behind := 0
		for next := d.next; next != nil; next = next.next {
			behind++
		}
		allowed = min(allowed, Leaving(remaining, r.pace.Expected(r.cfg.MinRemaining), r.cfg.Grace, behind))
	}
	if allowed < remaining {
		return now.Add(allowed)
	}
	return cutoff
}

// sendTime is what a send to the dead-letter queue may take.
const sendTime = 250 * time.Millisecond

// Leaving is how much of the remaining time a record may have at its last attempt while
// a number of others of its FIFO group wait behind it: so much that each of those can still be
// handled, in the time that Expected returned, when it has failed or hung, and was sent to the
// dead-letter queue, since they would be moved there unhandled. But it may have half of what
// remains, and twice what a record is expected to take, at least.
func Leaving(remaining, each, grace time.Duration, behind int) time.Duration {
	most := remaining - time.Duration(behind)*each - grace - sendTime
	return min(remaining, max(most, remaining/2, 2*each))
}

// minStart is the least time with which a record is started when nothing is configured.
const minStart = 50 * time.Millisecond

// Pace remembers how long the latest successes took, to decide whether another record is
// worth starting. The zero value has none.
type Pace struct {
	latest  *[64]time.Duration // nil before the first
	n       int
	longest time.Duration
}

// Add adds a success that took d.
func (p *Pace) Add(d time.Duration) {
	if p.latest == nil {
		p.latest = new([64]time.Duration)
	}
	p.latest[p.n%len(p.latest)] = d
	p.n++
	p.longest = max(p.longest, d)
}

// Enough reports whether the remaining time is enough to start a record: at least the
// configured minimum, or else the median of the latest successes and minStart. It computes
// the median only near the end, where it can matter.
func (p *Pace) Enough(remaining, configured time.Duration) bool {
	if configured > 0 {
		return remaining >= configured
	}
	return remaining >= minStart && (remaining >= p.longest || remaining >= p.median())
}

// Expected is what a record that has not been started is expected to take: the least
// with which it would be, and 1 s while nothing has succeeded.
func (p *Pace) Expected(configured time.Duration) time.Duration {
	switch {
	case configured > 0:
		return configured
	case p.latest == nil:
		return time.Second
	}
	return max(minStart, p.median())
}

func (p *Pace) median() time.Duration {
	if p.latest == nil {
		return 0
	}
	n := min(p.n, len(p.latest))
	sorted := *p.latest
	slices.Sort(sorted[:n])
	return sorted[n/2]
}

// Grace returns how long after the cutoff handlers may still return. It is taken from the reserve,
// and at most what is configured.
func (t Times) Grace(configured time.Duration) time.Duration {
	return max(0, min(configured, t.Deadline.Sub(t.Cutoff)/4))
}
