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
// There is one for each record in flight, so keep it small.
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
	State   State
	// Within is the time after Record.ReceivedAt in which its handler must be done. Zero if
	// only the runner's cutoff counts.
	Within time.Duration
	// HiddenUntil is when SQS shows the record to others, unless its owner extends that. Later
	// than that it is not started. Zero if that is not tracked.
	HiddenUntil time.Time
	// ShownBy is when SQS shows the record at the latest: HiddenUntil, or the end of an extension
	// that SQS has not confirmed. Zero if that is not known.
	ShownBy time.Time
	// Lost means that others may have the record: it is not started.
	Lost bool
	// Extending is true while a call that extends its visibility is open. The settler then makes
	// no call that the extension could undo.
	Extending bool
	// Notified means that the hooks of a container know the result.
	Notified bool
	// Last is true if SQS gives up on the record after this delivery. It then leaves time
	// for the records of its group that wait for it. The runner sets it if the owner has
	// not.
	Last bool
	// Settling is nil until a settler has the delivery.
	Settling *Settling

	follows  bool // it was handled together with the one before it, see View.Next
	alone    bool // those behind it were taken back, but for what it handles as well
	runner   *Runner
	next     *Delivery // behind it in its FIFO group
	together int       // so many of those behind it may be handled together with it
	queued   *Delivery // behind it in its queue

	// Used by its handler's context, see recordContext, which reads them without the
	// owner's lock.
	deadline time.Time                       // set before the handler is called; zero: the parent's
	batch    atomic.Pointer[context.Context] // values from BatchContext; nil: the parent's
	values   atomic.Pointer[context.Context] // from RecordContext; nil: the batch's
	err      atomic.Pointer[error]           // what it ended with; nil before
	ending   atomic.Pointer[ending]          // nil until someone asks for it
}

// Settling is what a settler knows of a delivery.
type Settling struct {
	// Head is the delivery with which it comes back: the failure because of which it was skipped,
	// or itself. Nil for a delete, and while its FIFO group waits for it.
	Head *Delivery

	// Of a Head, written before its first call:
	FailedAt  time.Time     // or released
	VisibleIn time.Duration // counted from FailedAt
	Postponed bool          // a release that waits for the end of an abort, see Settler.Postpone

	// Of its tries:
	Until   time.Time // no try begins later; zero for the settler's
	Due     time.Time // when it is tried; zero for when it has lingered
	Lingers bool      // it may be tried sooner, with others
	Patient bool      // it is tried until it is settled, whatever SQS answers
	Sending bool      // its FIFO group waits for a send; else, while Deciding, for its queue's answer
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

// Group yields d, which is finished, and the records that were skipped because of it.
func (d *Delivery) Group() iter.Seq[*Delivery] {
	return func(yield func(*Delivery) bool) {
		for ; d != nil && yield(d); d = d.next {
		}
	}
}

// copies are of the results of [Delivery.Group].
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
