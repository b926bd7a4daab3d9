package settle

import (
	"fmt"
	"time"
)

// maxVisibility is what SQS allows from the receipt of a message to its next
// appearance. Beyond that ChangeMessageVisibility is an error, see "Amazon SQS
// visibility timeout" in the Developer Guide.
const maxVisibility = 12 * time.Hour

// maxWindow is the longest that a message may have been with Lambda before the
// invocation began: the longest batching window, and some time to spare.
const maxWindow = 5*time.Minute + 30*time.Second

// callMargin is left of the 12 hours for the call itself and for clocks that differ.
const callMargin = 5 * time.Second

// decide works out when a record comes back, and reports whether that is to be set. It is
// not where the queue's visibility timeout ends later: an abandoned record, and those
// behind it, never come back sooner than that, since the handler may still be at work.
func (c *call) decide(j *job) bool {
	g := j.group
	if g.decide != nil {
		g.decided.Do(func() { g.decide(c.began) })
		j.visibleIn = g.visibleIn
	}
	if g.abandoned {
		until := g.hiddenUntil
		if until.IsZero() {
			until = c.shownBy(c.arn)
		}
		if until.IsZero() || !g.failedAt.Add(j.visibleIn).After(until) {
			j.left, j.visibleIn = true, 0
		}
	}
	return !j.left
}

// shownBy is when SQS shows the records of a batch by itself at the latest; zero if that
// is not known.
func (s *Settler) shownBy(arn string) time.Time {
	attributes, known := s.queues.known(arn)
	if !known || attributes.visibility == 0 {
		return time.Time{}
	}
	return s.began.Add(attributes.visibility) // they were received before that
}

// inTime returns the positions of a list without those that an earlier try, of which
// nobody knows whether it worked, may have made visible, and that others may have.
func (c *call) inTime(list []int, now time.Time) (in []int) {
	for _, k := range list {
		j := &c.jobs[k]
		if j.tries.unsure && j.visibleIn > 0 && !now.Before(j.group.failedAt.Add(j.visibleIn)) {
			c.errs[k] = fmt.Errorf("%w: %w", errTooLate, j.tries.err)
			continue
		}
		in = append(in, k)
	}
	return in
}

// timeout is the visibility timeout in seconds that makes a record appear when it shall:
// SQS counts it from the call, the backoff counts from the failure.
func (c *call) timeout(j *job, now time.Time) int32 {
	elapsed := now.Sub(j.group.failedAt)
	left := wholeSeconds(max(0, j.visibleIn-elapsed))
	if most := max(0, (maxVisibility - now.Sub(c.received(j)) - callMargin).Truncate(time.Second)); left > most {
		left, j.visibleIn = most, most+elapsed.Truncate(time.Second)
	}
	return int32(left / time.Second)
}

// received is when the message was received, as early as it may have been: SQS tells it in
// a container only.
func (c *call) received(j *job) time.Time {
	if j.receivedAt.IsZero() {
		return c.Settler.began.Add(-maxWindow)
	}
	return j.receivedAt
}
