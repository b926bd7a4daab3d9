package sqs

import (
	"math"
	"time"
)

const (
	// quietAfter is for how long a noisy tenant must send nothing to be quiet
	// again ("How Amazon SQS fair queues work" in the developer guide).
	quietAfter = 5 * time.Minute
	// recently is after how long processing time counts 1/e of what it did. The
	// page says "recent" only.
	recently = 5 * time.Minute
	// leastWorked is from how much recent processing time on, in message-seconds,
	// shares of it count: else a queue's first message would make its tenant
	// noisy. The page knows no such bound, but calls its own approximate.
	leastWorked = 60.0
)

// processing is how long messages were in flight recently, in seconds: each
// message adds a second a second. The zero value is none.
type processing struct {
	seconds float64
	at      time.Time // up to when it counts
}

// until returns the time up to now, while so many messages were in flight.
func (p *processing) until(now time.Time, inFlight int) float64 {
	passed := now.Sub(p.at)
	if passed <= 0 || p.seconds == 0 && inFlight == 0 {
		return p.seconds
	}
	left := math.Exp(-float64(passed) / float64(recently))
	return p.seconds*left + float64(inFlight)*recently.Seconds()*(1-left)
}

// advance is to be called before the number in flight changes.
func (p *processing) advance(now time.Time, inFlight int) {
	if now.After(p.at) {
		p.seconds, p.at = p.until(now, inFlight), now
	}
}
