package sender

import (
	"math/rand/v2"
	"time"
)

const (
	firstBackoff = 100 * time.Millisecond
	maxBackoff   = 5 * time.Second
)

// backoff is the wait after a number of failures in a row: it doubles from 100 ms up to 5 s,
// and up to half of it is taken off at random, so that senders do not call at the same time.
func backoff(failures int) time.Duration {
	d := min(firstBackoff<<min(max(failures-1, 0), 16), maxBackoff)
	return d - rand.N(d/2)
}

// pace limits the calls in flight. While SQS throttles or does not answer, the limit is
// halved down to one, and then the calls are made at longer and longer intervals. Each call
// that works raises the limit a little, so that it grows by one for each round of calls.
// Congestion control in TCP has the same rule.
type pace struct {
	most, limit float64
	lowered     time.Time // when the latest failure had its effect
	failures    int       // in a row, at the lowest limit
	until       time.Time // no call begins before
}

func newPace(most int) pace { return pace{most: float64(most), limit: float64(most)} }

// allows reports whether another call may begin.
func (p *pace) allows(inFlight int, now time.Time) bool {
	return inFlight < int(p.limit) && !now.Before(p.until)
}

// worked is called when SQS has answered a call.
func (p *pace) worked() {
	p.failures, p.until = 0, time.Time{}
	p.limit = min(p.limit+1/p.limit, p.most)
}

// failed is called when SQS has throttled a call that was made at began, or has not answered
// it. Calls that were in flight together lower the limit only once.
func (p *pace) failed(began, now time.Time) {
	if began.Before(p.lowered) {
		return
	}
	p.lowered = now
	if p.limit > 1 {
		p.limit = max(p.limit/2, 1)
		return
	}
	p.failures++
	p.until = now.Add(backoff(p.failures))
}
