package runner

import (
	"slices"
	"time"
)

// minStart is the least time with which a record is started when nothing is configured.
const minStart = 50 * time.Millisecond

// pace remembers how long the latest successes took, to decide whether another record is
// worth starting.
type pace struct {
	latest  *[64]time.Duration // nil before the first
	n       int
	longest time.Duration
}

func (p *pace) add(d time.Duration) {
	if p.latest == nil {
		p.latest = new([64]time.Duration)
	}
	p.latest[p.n%len(p.latest)] = d
	p.n++
	p.longest = max(p.longest, d)
}

// enough reports whether the remaining time is enough to start a record: at least the
// configured minimum, or else the median of the latest successes and minStart. It computes
// the median only near the end, where it can matter.
func (p *pace) enough(remaining, configured time.Duration) bool {
	if configured > 0 {
		return remaining >= configured
	}
	return remaining >= minStart && (remaining >= p.longest || remaining >= p.median())
}

// expected is what a record that has not been started is expected to take: the least
// with which it would be, and 1 s while nothing has succeeded.
func (p *pace) expected(configured time.Duration) time.Duration {
	switch {
	case configured > 0:
		return configured
	case p.latest == nil:
		return time.Second
	}
	return max(minStart, p.median())
}

func (p *pace) median() time.Duration {
	if p.latest == nil {
		return 0
	}
	n := min(p.n, len(p.latest))
	sorted := *p.latest
	slices.Sort(sorted[:n])
	return sorted[n/2]
}
