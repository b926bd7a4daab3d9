package batch

import "time"

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
