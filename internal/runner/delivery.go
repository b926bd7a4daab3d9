package runner

import (
	"context"
	"iter"
	"sync/atomic"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

// Delivery is a record from its receipt until it is settled.
//
// Its owner sets Record, Result and other fields before it adds the delivery to a runner. From
// then on the owner's lock guards it. The runner writes Result and Verdict until the delivery is
// Finished, and the settler writes Result after that.
//
// There is one for each record in flight, so keep it small; bools stand together.
type Delivery struct {
	Record *batch.Record
	// Latest is the record as SQS delivered it last. Calls use its receipt handle, and count the
	// 12 hours that SQS allows from its time. It may be replaced while a delete waits: the delete
	// is then made, or repeated, with the new handle.
	Latest *batch.Record
	// First is the first record of those that were received together: released records of a FIFO
	// group come back together. Nil on Lambda.
	First *batch.Record
	// Result receives the outcome. The runner sets its Record.
	Result *batch.Result
	// Verdict is what Result.Err asks for.
	Verdict Verdict
	// Within limits the handler to this time after Record.ReceivedAt. Zero if
	// only the runner's cutoff counts.
	Within time.Duration
	// HiddenUntil is the end of the visibility timeout that SQS confirmed last. The record is not
	// started after it. Zero on Lambda.
	HiddenUntil time.Time
	// ShownBy is when SQS shows the record at the latest: HiddenUntil, or the end of an extension
	// that SQS has not confirmed. Zero if that is not known.
	ShownBy time.Time
	State   State
	// Lost means that others may have the record: it is not started.
	Lost bool
	// Extending is true while a call that extends its visibility is open. The settler then makes
	// no call that the extension could undo.
	Extending bool
	// Notified is true if a container's BatchSettled hook needs no further call.
	Notified bool
	// Last is true if SQS gives up on the record after this delivery. Its deadline then leaves
	// time for the records behind it. The runner sets Last if the owner has not.
	Last    bool
	follows bool // it was handled together with the one before it, see View.Next
	alone   bool // after Withdraw: deliveries behind it start only if View.Next begins them
	// Settling is nil until a settler has the delivery.
	Settling *Settling

	runner   *Runner
	next     *Delivery // behind it in its FIFO group
	together int       // number of deliveries behind it that its handler may handle as well
	queued   *Delivery // behind it in its queue

	// Used by its handler's context, see recordContext, which reads them without the
	// owner's lock.
	deadline time.Duration          // after Runner.began, set before the handler is called; 0: the parent's
	values   atomic.Pointer[values] // from hooks; nil: there are none
	err      atomic.Pointer[error]  // of the context; nil before its end
	ending   atomic.Pointer[ending] // nil until someone asks for it
}

// values are contexts with the values that hooks added.
type values struct{ batch, record context.Context }

// Settling is the settler's state of a delivery.
type Settling struct {
	// Of a call that sets the visibility, written before it:
	FailedAt  time.Time     // when the record, or the one before it in its group, failed or was released
	VisibleIn time.Duration // counted from FailedAt
	Postponed bool          // a release that waits for the end of an abort, see Settler.Postpone

	// Of its tries:
	Until   time.Time // no try begins later; zero for the settler's
	Due     time.Time // when it is tried; zero for when it has lingered
	Lingers bool      // it may be tried sooner, with others
	Patient bool      // it is tried until it is settled, whatever SQS answers
	Sending bool      // Settler.DeadLetter sends it; if false while Deciding, the queue is being asked
	Unsure  bool      // a try may have had its effect, although it failed
	Count   int       // tries that SQS answered with a failure
	Err     error     // of the latest try
}

// Lapsed reports whether others may have d.
func (d *Delivery) Lapsed(now time.Time) bool {
	return d.Lost || !d.HiddenUntil.IsZero() && !now.Before(d.HiddenUntil)
}

// State is how far a delivery has come.
type State uint8

const (
	Waiting  State = iota // for a slot, or for those before it in its group
	Running               // its handler runs, or is about to
	Deciding              // it failed, and its group waits for [Delivery.Resolve]
	Finished              // its owner has it

	// In a container, after that:
	Deleting  // handled; waits to be deleted
	Returning // failed, skipped or not started; its visibility has to be set
)

// Group yields d and the deliveries behind it in its FIFO group. If d failed, those were skipped.
func (d *Delivery) Group() iter.Seq[*Delivery] {
	return func(yield func(*Delivery) bool) {
		for ; d != nil && yield(d); d = d.next {
		}
	}
}

// copies returns copies of the results of [Delivery.Group].
func (d *Delivery) copies() (list []batch.Result) {
	for d := range d.Group() {
		list = append(list, *d.Result)
	}
	return list
}

// queue is a list of deliveries, in order.
type queue struct {
	first, last *Delivery
	n           int
}

func (q *queue) pushBack(d *Delivery) {
	q.n++
	if q.first == nil {
		q.first = d
	} else {
		q.last.queued = d
	}
	q.last = d
}

func (q *queue) pushFront(d *Delivery) {
	q.n++
	if d.queued = q.first; q.first == nil {
		q.last = d
	}
	q.first = d
}

// pop removes and returns the first delivery; nil if there is none.
func (q *queue) pop() *Delivery {
	d := q.first
	if d != nil {
		q.n--
		q.first, d.queued = d.queued, nil
	}
	return d
}
