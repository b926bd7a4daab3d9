package batch

import "time"

// Deadline chooses how much of the time that remains to the cutoff a record gets.
type Deadline string

const (
	// WholeRemaining gives every record all the time that remains. It is the default and
	// right for nearly everyone: no record is cut short to leave time for others.
	WholeRemaining Deadline = "whole"
	// FairShare divides the remaining time by the number of rounds in which the waiting
	// records will run, and gives each record at least 1 s. Every record of the batch can
	// start. The price: a slow but healthy record is cut short on every delivery, and a
	// batch of slow records finishes none. With [WholeRemaining] such a batch finishes some
	// records and releases the rest.
	FairShare Deadline = "fair"
)

// Times are the time limits of a batch.
type Times struct {
	// Deadline is when Lambda kills the invocation. Zero if there is no deadline.
	Deadline time.Time
	// Cutoff is when handlers must have returned: Deadline less the reserve. Zero without a
	// deadline.
	Cutoff time.Time
	// SettleBy is when the last call that settles records must have ended, so that the
	// response can still be sent. Zero without a deadline.
	SettleBy time.Time
}
