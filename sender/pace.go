package sender

import (
	"time"

	"github.com/sqsbatch/sqsbatch/internal/sleep"
)

const (
	firstBackoff = 100 * time.Millisecond
	maxBackoff   = 5 * time.Second
)

// backoff returns the wait after a number of failures in a row.
func backoff(failures int) time.Duration { return sleep.Backoff(failures, firstBackoff, maxBackoff) }

// pace limits the calls in flight. While SQS throttles or does not answer, the limit is
// halved down to one, and then the calls are made at longer and longer intervals. Each call
// that works raises the limit a little, so that it grows by one for each round of calls.
// Congestion control in TCP has the same rule.
type pace struct {
	most, limit float64
	lowered     time.Time // time of the latest failure that counted
	failures    int       // in a row, at the lowest limit
	until       time.Time // start of the next call at the earliest
}

func newPace(most int) pace { return pace{most: float64(most), limit: float64(most)} }

// allows reports whether another call may start.
func (p *pace) allows(inFlight int, now time.Time) bool {
	return inFlight < int(p.limit) && !now.Before(p.until)
}

// worked raises the limit after SQS has answered a call.
func (p *pace) worked() {
	p.failures, p.until = 0, time.Time{}
	p.limit = min(p.limit+1/p.limit, p.most)
}

// failed lowers the limit after SQS throttled, or did not answer, a call that started at
// began. Calls that were in flight together lower the limit only once.
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
