package runner

import (
	"context"
	"iter"
	"sync/atomic"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

// A Delivery is a record that is held, from [Runner.Add] until it is finished. Its
// owner sets Record, Result and what else it needs before it adds it, and does not
// touch it again until [Runner.Finished] returns it; the runner writes Result and
// Verdict.
type Delivery struct {
	Record *batch.Record
	// Result is where the outcome goes. Its Record is set by the runner.
	Result *batch.Result
	// Verdict is what Result.Err asks for.
	Verdict batch.Verdict
	// Batch is what the hooks are told of when the first of its deliveries starts; nil
	// where the owner tells them.
	Batch *Batch
	// Cutoff is when its handler must be done; zero for the runner's own.
	Cutoff time.Time
	// Lease is until when others do not have it; zero if that is not watched. See
	// [Runner.Extend].
	Lease time.Time
	// Last says that SQS gives up on the record after this delivery: it leaves time for
	// those of its group that wait for it.
	Last bool
	// Owner is the owner's, who else has no way from here to what it keeps.
	Owner any

	state    state
	runner   *Runner
	worker   *worker   // while it runs
	group    *group    // nil unless FIFO
	next     *Delivery // behind it in its group
	queued   *Delivery // behind it among those that are ready
	added    time.Time // if it has a Cutoff
	giveUpAt time.Time // when its handler is given up, since its context has ended
	handed   bool      // it is among Runner.finished
	parked   bool      // it waits for other records, see View
	cut      error     // why it is not started when its turn comes; nil if it is
	claimed  bool      // one before it in its group handles it together with itself
	known    bool      // its outcome came together with an earlier one's
	answer   any       // that outcome, until it is asked for
	ctx      recordContext
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

// Results are those of [Delivery.Group].
func (d *Delivery) Results() (list []*batch.Result) {
	for d := range d.Group() {
		list = append(list, d.Result)
	}
	return list
}

// Batch is what was received together: a record of a standard queue, or those of a
// FIFO group.
type Batch struct {
	Info    batch.BatchInfo
	Records []batch.Record

	begun bool // the first of its deliveries has started; guarded by the runner
	ctx   atomic.Pointer[context.Context]
}

// Context is what the hooks made of ctx for the batch; ctx until they have.
func (b *Batch) Context(ctx context.Context) context.Context {
	if own := b.ctx.Load(); own != nil {
		return *own
	}
	return ctx
}

// Begun reports whether a delivery of the batch has started. It is for who knows
// that none of them is with the runner any more.
func (b *Batch) Begun() bool { return b.begun }

// tell has the hooks told that the batch begins.
func (b *Batch) tell(ctx context.Context, hooks *batch.Hooks) {
	own := hooks.BatchContext(ctx, b.Info, b.Records)
	b.ctx.Store(&own)
	hooks.BatchStarted(own, b.Info)
}

// A group is a FIFO queue's: its deliveries are handled one after another.
type group struct {
	key  groupKey
	last *Delivery
}

type groupKey struct{ queue, id string }

// ready is a list of deliveries, in order.
type ready struct {
	first, last *Delivery
	n           int
}

func (l *ready) pushBack(d *Delivery) {
	l.n++
	if d.queued = nil; l.last == nil {
		l.first = d
	} else {
		l.last.queued = d
	}
	l.last = d
}

func (l *ready) pushFront(d *Delivery) {
	l.n++
	if d.queued = l.first; l.first == nil {
		l.last = d
	}
	l.first = d
}

// pop takes the first delivery for which ok holds, or returns nil.
func (l *ready) pop(ok func(*Delivery) bool) *Delivery {
	var before *Delivery
	for d := l.first; d != nil; before, d = d, d.queued {
		if !ok(d) {
			continue
		}
		if before == nil {
			l.first = d.queued
		} else {
			before.queued = d.queued
		}
		if l.last == d {
			l.last = before
		}
		l.n--
		d.queued = nil
		return d
	}
	return nil
}
