package batch

import (
	"context"
	"time"
)

// Deadline says how much of the time that remains to the cutoff a record is given.
type Deadline string

const (
	// WholeRemaining gives every record all the time that remains. It is the default,
	// and right for nearly everyone: no record is cut for another's sake.
	WholeRemaining Deadline = "whole"
	// FairShare divides the time that remains by the waves of records still to be run,
	// and gives at least 1 s. It lets every record of the batch start, at a price: a
	// record that is slow but healthy is cut short on every delivery, and a batch in
	// which all are slow finishes none of them, where [WholeRemaining] finishes some
	// and releases the rest.
	FairShare Deadline = "fair"
)

// leastShare is what FairShare gives at least.
const leastShare = time.Second

// fairShare is a share of the remaining time for a record that starts while so many
// wait, itself included, and so many run at a time.
func fairShare(remaining time.Duration, waiting, concurrency int) time.Duration {
	waves := (waiting + concurrency - 1) / concurrency
	return max(leastShare, remaining/time.Duration(max(waves, 1)))
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
