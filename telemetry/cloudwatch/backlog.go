package cloudwatch

import (
	"math"
	"time"
)

// AcceptableBacklog is how many messages may wait for each task so that none
// waits for longer than latency, when a task handles slots records at a time,
// each in handlerTime: the target of a target tracking policy on backlog per
// task. 10 slots with records of 200 ms handle 50 a second, so for a latency of
// a minute it is 3,000.
//
// It is rounded down, and 1 at least, which is what it is for values that mean
// nothing, such as a handlerTime of 0: a target must be above 0. Take the p90
// of RecordDuration rather than the mean for handlerTime, and take off latency
// what a task needs to start.
func AcceptableBacklog(latency, handlerTime time.Duration, slots int) int {
	if latency <= 0 || handlerTime <= 0 || slots <= 0 {
		return 1
	}
	n := math.Floor(float64(slots) * float64(latency) / float64(handlerTime))
	return int(min(max(n, 1), math.MaxInt32))
}

// AcceptableBacklogPerSlot is the same for each slot: the target where what
// waits is divided by the sum of the tasks' Slots. It does not change with the
// concurrency.
func AcceptableBacklogPerSlot(latency, handlerTime time.Duration) int {
	return AcceptableBacklog(latency, handlerTime, 1)
}
