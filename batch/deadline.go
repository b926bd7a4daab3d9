package batch

import (
	"context"
	"time"
)

// DeadlinePolicy says how much time a record that starts now is given. What it
// returns is cut to the time that remains; 0 or less means all of it. It is
// not asked where the context has no deadline.
type DeadlinePolicy func(Start) time.Duration

// Start is what a [DeadlinePolicy] decides by.
type Start struct {
	// Remaining is the time to the cutoff.
	Remaining time.Duration
	// Waiting is how many records of the batch have not been started, this one included.
	Waiting int
	// Concurrency is how many records run at a time.
	Concurrency int
}

// WholeRemaining gives every record all the time that remains. It is what a
// nil [DeadlinePolicy] does, and right for nearly everyone: no record is cut
// for another's sake.
func WholeRemaining() DeadlinePolicy {
	return func(s Start) time.Duration { return s.Remaining }
}

// FairShare divides the time that remains by the waves of records still to be
// run, and gives at least floor. It lets every record of the batch start, at a
// price: a record that is slow but healthy is cut short on every delivery,
// and a batch in which all are slow finishes none of them, where
// [WholeRemaining] finishes some and releases the rest.
func FairShare(floor time.Duration) DeadlinePolicy {
	return func(s Start) time.Duration {
		waves := (s.Waiting + s.Concurrency - 1) / max(s.Concurrency, 1)
		return max(floor, s.Remaining/time.Duration(max(waves, 1)))
	}
}

// Bounds of the reserve when it is not configured.
const (
	minReserve = 200 * time.Millisecond
	maxReserve = 2 * time.Second
)

// Times are the moments that a batch is bound by.
type Times struct {
	// Deadline is when the invocation is killed; zero if it has no end.
	Deadline time.Time
	// Cutoff is when handlers must be done: Deadline less the reserve.
	// Zero without a deadline.
	Cutoff time.Time
	// SettleBy is when the last call of settling must have ended, so that the
	// response can still be written. Zero without a deadline.
	SettleBy time.Time
}

// Times derives a batch's moments from ctx's deadline, for a batch that begins
// now. The reserve, unless configured, is a tenth of the remaining time,
// between 200 ms and 2 s, but never above a quarter of it: a function with a
// timeout of 1 s keeps 200 ms, one of 20 s or more 2 s. A configured reserve is
// never above half of the remaining time, or nothing would ever be handled. A
// quarter of the reserve is left for the response itself.
func (e *Engine) Times(ctx context.Context) Times {
	deadline, ok := ctx.Deadline()
	if !ok {
		return Times{}
	}
	remaining := max(0, time.Until(deadline))
	reserve := min(e.cfg.Reserve, remaining/2)
	if e.cfg.Reserve == 0 {
		reserve = min(max(remaining/10, minReserve), maxReserve, remaining/4)
	}
	return Times{
		Deadline: deadline,
		Cutoff:   deadline.Add(-reserve),
		SettleBy: deadline.Add(-reserve / 4),
	}
}
