package partialfailure_test

import (
	"math"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/partialfailure"
)

func TestExponential_HasFullJitterAndCap(t *testing.T) {
	backoff := partialfailure.Exponential(2*time.Second, time.Minute)
	for attempt, most := range map[int]time.Duration{
		0: 2 * time.Second, 1: 2 * time.Second, 2: 4 * time.Second, 3: 8 * time.Second, 5: 32 * time.Second,
		6: time.Minute, 100: time.Minute, math.MaxInt: time.Minute, // no count overflows it
	} {
		least, longest, sum := time.Duration(math.MaxInt64), time.Duration(0), time.Duration(0)
		const n = 2000
		for range n {
			d := backoff(attempt)
			least, longest, sum = min(least, d), max(longest, d), sum+d
		}
		if least < time.Second || longest > most {
			t.Errorf("attempt %d: %v to %v, want 1s to %v", attempt, least, longest, most)
		}
		// Spread over the whole range: 2,000 draws come within a fifth of both ends, and to the middle.
		spread, middle := most-time.Second, (most+time.Second)/2
		if least > time.Second+spread/5 || longest < most-spread/5 || sum/n < middle*8/10 || sum/n > middle*12/10 {
			t.Errorf("attempt %d: %v to %v, mean %v: not spread over 1s to %v", attempt, least, longest, sum/n, most)
		}
	}
}

func TestExponential_IsASecondAtLeast(t *testing.T) {
	if got := partialfailure.Exponential(time.Millisecond, time.Hour)(1); got != time.Second {
		t.Errorf("from 1ms: %v, want 1s at least", got)
	}
}
