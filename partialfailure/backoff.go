package partialfailure

import (
	"math/rand/v2"
	"time"
)

// Backoff says after how long a record that failed is delivered again, by the
// number of the attempt that failed, from 1. What it returns is rounded up to
// whole seconds and cut to what SQS takes. Unlike [Config].Outage it does not know
// when SQS gives up on a record.
type Backoff func(attempt int) time.Duration

const (
	minBackoff    = time.Second    // below that, a dependency that is down is hammered
	maxVisibility = 12 * time.Hour // for which SQS hides a message
)

// Exponential draws whole seconds, from 1 s to base × 2^(attempt−1), at most limit:
// records that failed together do not come back together ("full jitter").
//
// The sum over the attempts is the outage that a record survives: with 2 s, 15 min
// and a maxReceiveCount of 5 half a minute at most.
func Exponential(base, limit time.Duration) Backoff {
	limit = min(limit, maxVisibility)
	return func(attempt int) time.Duration {
		longest := base
		for i := 1; i < attempt && longest < limit; i++ {
			longest *= 2
		}
		longest = min(longest, limit)
		if longest <= minBackoff {
			return minBackoff
		}
		return minBackoff * (1 + time.Duration(rand.Int64N(int64(longest/minBackoff))))
	}
}

// Linear waits step × attempt, at most limit and at least 1 s.
func Linear(step, limit time.Duration) Backoff {
	return func(attempt int) time.Duration {
		// A product beyond the limit could overflow: compare before multiplying.
		if step > 0 && time.Duration(attempt) > limit/step {
			return max(minBackoff, limit)
		}
		return max(minBackoff, step*time.Duration(max(attempt, 1)))
	}
}

// Constant waits d, at least 1 s.
func Constant(d time.Duration) Backoff {
	return func(int) time.Duration { return max(minBackoff, d) }
}
