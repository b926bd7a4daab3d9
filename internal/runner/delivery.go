package runner

import (
	"context"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

// A Delivery is a record in the hands of a runner, from [Runner.Add] until it is
// finished. Its owner sets Record, Result and what else it needs before it adds it, and
// does not touch it again until [Runner.Finished] returns it: the runner's lock guards it,
// and the runner writes Result and Verdict. Two things the owner may do meanwhile: read
// Record, which only its own Renew replaces, and read all of a delivery that is deciding,
// since only the owner ends that.
//
// There is one for each record in flight: its size counts.
type Delivery struct {
	Record *batch.Record
	// Result is where the outcome goes. Its Record is set by the runner.
	Result *batch.Result
	// Verdict is what Result.Err asks for.
	Verdict Verdict
	// Batch is what the hooks are notified of when the first of its deliveries starts;
	// nil where the owner notifies them.
	Batch *Batch
	// Within is how long after Record.ReceivedAt its handler must be done; zero for
	// the runner's own cutoff.
	Within time.Duration
	// Lease is for how long, from Record.ReceivedAt, the record is ours; 0 if that is not
	// tracked, below 0 if it is lost already. See [Runner.Extend].
	Lease time.Duration
	// Owner is what the owner keeps for the record. The runner does not use it.
	Owner any
	// Last says that SQS gives up on the record after this delivery: it leaves time for
	// those of its group that wait for it. The owner sets it, or the runner where the owner
	// has not.
	Last bool

	state   state
	joining bool // it waits for others to join it, see View
	runner  *Runner
	next    *Delivery // behind it in its FIFO group
	queued  *Delivery // behind it in its queue
	bulk    *bulkPart // nil unless package bulk uses it, see View

	// Of its handler's context, see recordContext, which reads them without the runner's lock.
	deadline time.Time                       // set before the handler is called; zero: the parent's
	values   atomic.Pointer[context.Context] // in place of the batch's, from hooks
	mu       sync.Mutex                      // guards what follows
	err      error                           // what it ended with
	ending   *ending                         // nil until someone asks for it
}

// leaseLeft is for how long others do not have d; it counts if d has a Lease.
func (d *Delivery) leaseLeft(now time.Time) time.Duration {
	return d.Lease - now.Sub(d.Record.ReceivedAt)
}

// state is how far a delivery has come.
type state uint8

const (
	waiting  state = iota // for a slot, or for those before it in its group
	running               // its handler runs, or is about to
	deciding              // it failed, and its group waits for [Runner.Resolve]
	finished
)

// Deciding reports whether d failed and waits for [Runner.Resolve], rather than
// being finished.
func (d *Delivery) Deciding() bool { return d.state == deciding }

// Group yields d, which is finished, and those that were skipped because of it.
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

// Batch is what was received together: a record of a standard queue, or those of a
// FIFO group.
type Batch struct {
	// Info is the owner's until the runner sets its Started, when the first of its
	// deliveries starts, and again when the runner has none of them any more.
	Info    batch.BatchInfo
	Records []batch.Record

	ctx atomic.Pointer[context.Context]
}

// Context is what the hooks made of ctx for the batch; ctx until they have, or if b is nil.
func (b *Batch) Context(ctx context.Context) context.Context {
	if b != nil {
		if own := b.ctx.Load(); own != nil {
			return *own
		}
	}
	return ctx
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

// pop takes the first delivery; nil if there is none.
func (q *queue) pop() *Delivery {
	d := q.first
	if d != nil {
		q.n--
		q.first, d.queued = d.queued, nil
	}
	return d
}
