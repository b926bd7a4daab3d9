package runner

import (
	"context"
	"iter"
	"sync/atomic"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

// Delivery is a record that a runner handles, from [Runner.Add] until it is finished.
//
// Its owner sets Record, Result and other fields before it adds the delivery. From then on the
// runner's lock guards it, and the runner writes Result and Verdict until it is finished.
//
// There is one for each record in flight, so keep it small.
type Delivery struct {
	Record *batch.Record
	// Result receives the outcome. The runner sets its Record.
	Result *batch.Result
	// Verdict is what Result.Err asks for.
	Verdict Verdict
	// Within is the time after Record.ReceivedAt in which its handler must be done. Zero if
	// only the runner's cutoff counts.
	Within time.Duration
	// HiddenUntil is when SQS shows the record to others, unless its owner extends that. Later
	// than that it is not started. Zero if that is not tracked.
	HiddenUntil time.Time
	// Lost means that others may have the record: it is not started.
	Lost bool
	// Owner is for the owner's data about the record. The runner does not use it.
	Owner any
	// Last is true if SQS gives up on the record after this delivery. It then leaves time
	// for the records of its group that wait for it. The runner sets it if the owner has
	// not.
	Last bool

	state   state
	follows bool // it was handled together with the one before it, see View.Next
	alone   bool // those behind it were taken back, but for what it handles as well
	runner  *Runner
	next    *Delivery // behind it in its FIFO group
	claims  int       // so many of those it may handle as well
	queued  *Delivery // behind it in its queue

	// Used by its handler's context, see recordContext, which reads them without the
	// runner's lock.
	deadline time.Time                       // set before the handler is called; zero: the parent's
	batch    atomic.Pointer[context.Context] // values from BatchContext; nil: the parent's
	values   atomic.Pointer[context.Context] // from RecordContext; nil: the batch's
	err      atomic.Pointer[error]           // what it ended with; nil before
	ending   atomic.Pointer[ending]          // nil until someone asks for it
}

// Lapsed reports whether others may have d.
func (d *Delivery) Lapsed(now time.Time) bool {
	return d.Lost || !d.HiddenUntil.IsZero() && !now.Before(d.HiddenUntil)
}

// state is how far a delivery has come.
type state uint8

const (
	waiting  state = iota // for a slot, or for those before it in its group
	running               // its handler runs, or is about to
	deciding              // it failed, and its group waits for [Delivery.Resolve]
	finished
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
