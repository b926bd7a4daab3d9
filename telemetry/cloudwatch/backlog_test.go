package cloudwatch_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/telemetry/cloudwatch"
)

func TestAcceptableBacklog(t *testing.T) {
	for _, c := range []struct {
		latency, handler time.Duration
		slots, want      int
	}{
		{time.Minute, 200 * time.Millisecond, 10, 3000},
		{10 * time.Minute, time.Second, 1, 600},
		{time.Second, 3 * time.Second, 10, 3},
		{time.Second, time.Minute, 1, 1},
		{time.Hour, time.Nanosecond, 10_000, math.MaxInt32},
		{0, time.Second, 10, 1}, {-1, time.Second, 10, 1}, {time.Second, 0, 10, 1}, {time.Second, time.Second, 0, 1}, {time.Second, -1, -1, 1},
	} {
		if got := cloudwatch.AcceptableBacklog(c.latency, c.handler, c.slots); got != c.want {
			t.Errorf("AcceptableBacklog(%v, %v, %d) = %d, want %d", c.latency, c.handler, c.slots, got, c.want)
		}
	}
	if got := cloudwatch.AcceptableBacklogPerSlot(time.Minute, 200*time.Millisecond); got != 300 {
		t.Errorf("per slot %d", got)
	}
}

func ExampleAcceptableBacklog() {
	// A message may wait a minute, a task starts in 30 s, p90 of RecordDuration
	// is 250 ms, Concurrency is 10.
	fmt.Println(cloudwatch.AcceptableBacklog(time.Minute-30*time.Second, 250*time.Millisecond, 10))
	// Output: 1200
}
