package sqs

import (
	"math"
	"time"
)

const (
	// quietAfter is for how long a noisy tenant must send nothing to be quiet
	// again ("How Amazon SQS fair queues work" in the developer guide).
	quietAfter = 5 * time.Minute
	// recently is the time after which processing time counts only 1/e. The page only says
	// "recent".
	recently = 5 * time.Minute
	// leastWorked is the least recent processing time, in message-seconds, from which
	// shares count. Otherwise a queue's first message would make its tenant noisy. The page
	// has no such limit, but calls its own approximate.
	leastWorked = 60.0
)

// processing is how long messages were in flight recently, in seconds: each message adds
// one second per second. The zero value is ready to use.
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
