package partialfailure

import (
	"time"

	"github.com/sqsbatch/sqsbatch/internal/draw"
)

// Backoff returns the time after which a failed record is delivered again. attempt is the
// number of the attempt that failed, from 1. The result is rounded up to whole seconds and
// limited to 12 hours. It must not block: all records wait for it. Unlike [Config].Outage, a
// Backoff does not adapt to the queue's maxReceiveCount.
type Backoff func(attempt int) time.Duration

const maxVisibility = 12 * time.Hour // the longest time for which SQS hides a message

// Exponential returns a Backoff of a random number of whole seconds, from 1 s to
// base × 2^(attempt−1), but at most limit. Records that failed together do not come back
// together ("full jitter").
//
// A record survives an outage that is not longer than the sum of its waits. With a base of
// 2 s, a limit of 15 min and a maxReceiveCount of 5, that is half a minute at most.
func Exponential(base, limit time.Duration) Backoff {
	return func(attempt int) time.Duration {
		return draw.FullJitter(draw.Rand, base, min(limit, maxVisibility), attempt)
	}
}
