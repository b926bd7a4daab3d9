// Package runner calls a handler for deliveries. A [Runner] applies slots, FIFO groups and
// deadlines, and abandons handlers that ignore the end of their context. On Lambda there is
// one for each invocation, in a container one for the life of a poller. Its owner adds
// deliveries, and is called when they have finished:
//
//	Waiting → Running → Finished
//	             └→ Deciding ┘   a FIFO record that failed, while others wait for it
//
// A file calls those below it in this list. Exception: setDue sets a timer that calls expire.
//
//   - engine.go: a handler with its configuration; invocation.go: the records of an invocation
//   - runner.go: what an owner does, such as adding and withdrawing deliveries
//   - expiry.go: contexts end, and handlers are abandoned; view.go: what packages bulk and idempotency see
//   - worker.go: a goroutine starts, handles and finishes deliveries
//   - outcome.go: a delivery succeeds, fails or waits for a decision, and its owner is called
//   - state.go: the runner's counts, and what follows from them; delivery.go, verdict.go, context.go
//   - deadline.go: how much time a record has; slots.go: slots that runners share
//
// A runner and its owner share one lock: what a worker finds out is applied at once by the
// owner's functions, see [Options]. Exported methods need the lock. Without it the runner calls
// the handler, hooks and [Options].LastAttempt. The lock of [Slots] is taken after it, never
// before.
package runner

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

// Options are what an owner gives its runner. Functions are called with the lock, and must
// neither block nor release it.
type Options struct {
	// Times are an invocation's time limits. Zero in a container.
	Times Times
	// Lock guards the runner, its deliveries, and what their owner knows of them. Nil means one
	// of the runner's own.
	Lock *sync.Mutex
	// Wake gets a value after the owner was called, and when the runner is idle. It must have room
	// for one. Nil means one of the runner's own.
	Wake chan struct{}
	// Finished is called with each delivery that has finished; on Lambda ([Engine.Run]) not with
	// successes. Its [Delivery.Group] are the records of its FIFO group that
	// were skipped because of it. Nil means nothing.
	Finished func(d *Delivery)
	// Decide is called with a delivery that failed while others of its FIFO group wait for it.
	// The owner then calls [Delivery.Resolve]. Nil means that the delivery has failed.
	Decide func(d *Delivery)
	// LastAttempt returns the value of [Delivery].Last if that is not set. It is called, without
	// the lock, before a record starts for which other records of its group wait. It may block
	// for a moment. Nil means never the last.
	LastAttempt func(*batch.Record) bool
	// Single means that hooks see each record as a batch, as in a container.
	Single bool
}

// Runner handles deliveries. Make it with [Engine.NewRunner].
type Runner struct {
	*Engine
	options  Options
	contexts bool // hooks add values to the contexts of records
	began    time.Time
	parent   context.Context

	mu        *sync.Mutex
	ready     queue                  // heads of groups, and records of standard queues
	groups    map[groupKey]*Delivery // the last of each FIFO group
	counts    [Finished]int          // deliveries by state
	active    []*worker              // workers with a slot
	slots     int
	share     *share      // part of shared slots; nil if they are not shared
	timer     *time.Timer // calls expire; nil before its first use
	due       time.Time   // when timer fires; zero if it is stopped
	starting  bool        // a worker was started and has not taken its first delivery
	paused    bool        // nothing is started
	closed    bool        // nothing more is added
	deciding  []*Delivery
	notifying int // calls of hooks about deliveries that are finished
	abandoned int // handlers that were given up and still run
	pace      Pace
	shared    map[any]Shared // see View.Shared
	withdrawn error          // of the latest Withdraw
}

// NewRunner returns a runner. The contexts of its handlers have ctx's values, and end when
// ctx does.
func (e *Engine) NewRunner(ctx context.Context, o Options) *Runner {
	r := &Runner{
		Engine: e, options: o, contexts: e.Hooks.Contexts || e.Hooks.Batches && o.Single, parent: ctx, began: time.Now(),
		mu: cmp.Or(o.Lock, new(sync.Mutex)), slots: e.cfg.Concurrency,
	}
	r.options.Wake = cmp.Or(o.Wake, make(chan struct{}, 1))
	if e.Slots != nil {
		r.share = e.Slots.join(e.Priority, r.granted, r.signal)
	}
	return r
}

// Leave gives up r's share of the slots: nothing more is started.
func (r *Runner) Leave() {
	if r.share != nil {
		r.share.leave()
	}
}

// Usable returns how many slots, of most, the runner has, can take now, or will get soon,
// however many records other runners have. More records would have to wait longer.
func (r *Runner) Usable(most int) int {
	if r.share != nil {
		return r.share.usable(most)
	}
	return most
}

// Add adds deliveries, in order.
func (r *Runner) Add(list ...*Delivery) {
	for _, d := range list {
		r.add(d)
	}
	r.addWorker()
}

func (r *Runner) add(d *Delivery) {
	r.counts[Waiting]++
	d.runner, d.Result.Record = r, d.Record
	if !d.Record.FIFO() || r.firstOfGroup(d) {
		r.ready.pushBack(d)
	}
}

// firstOfGroup adds d to its FIFO group, and reports whether it is the only one there.
func (r *Runner) firstOfGroup(d *Delivery) bool {
	if r.groups == nil {
		r.groups = make(map[groupKey]*Delivery)
	}
	last := r.groups[keyOf(d)]
	r.groups[keyOf(d)] = d
	if last != nil {
		last.next = d
	}
	return last == nil
}

// Resume ends a pause, and sets the number of slots.
func (r *Runner) Resume(slots int) {
	if r.paused || r.slots != slots {
		r.slots, r.paused = slots, false
		r.addWorker()
	}
}

// Withdraw takes back, in order, the deliveries that were not started. Exception: if the
// running delivery of a group may handle others as well (see [View.Behind]), those others
// finish as not started, with the error why, unless it handled them.
func (r *Runner) Withdraw(why error) (list []*Delivery) {
	list = r.withdrawReady(func(*Delivery) bool { return true })
	for _, w := range r.active {
		switch d := w.delivery; {
		case d == nil || d.next == nil:
		case d.together > 0:
			d.alone, r.withdrawn = true, why
		default:
			list = append(list, r.withdrawBehind(d)...)
		}
	}
	for _, d := range r.deciding {
		list = append(list, r.withdrawBehind(d)...)
	}
	return list
}

// WithdrawOlder takes back the waiting deliveries that were received before since.
func (r *Runner) WithdrawOlder(since time.Time) []*Delivery {
	return r.withdrawReady(func(d *Delivery) bool { return !d.Record.ReceivedAt.After(since) })
}

// withdrawReady takes back deliveries that wait for a slot, with what waits for them.
func (r *Runner) withdrawReady(which func(*Delivery) bool) (list []*Delivery) {
	for range r.ready.n {
		d := r.ready.pop()
		if !which(d) {
			r.ready.pushBack(d)
			continue
		}
		list = append(append(list, d), r.withdrawBehind(d)...)
		r.advance(d)
	}
	return list
}

// withdrawBehind takes what waits for d out of its group.
func (r *Runner) withdrawBehind(d *Delivery) (list []*Delivery) {
	if d.together = 0; d.next == nil {
		return nil
	}
	for behind := range d.next.Group() {
		r.enter(behind, Finished)
		list = append(list, behind)
	}
	for _, behind := range list {
		behind.next = nil
	}
	d.next, r.groups[keyOf(d)] = nil, d
	return list
}

// Renew gives d the receipt handle and times of a later delivery of its record. If d was not started,
// it gets the new record as well.
func (r *Runner) Renew(d, again *Delivery) {
	d.Latest, d.ShownBy = again.Record, again.ShownBy
	if d.HiddenUntil, d.Lost = again.HiddenUntil, false; d.State == Waiting {
		d.Record, d.Result.Record, d.Within, d.Last = again.Record, again.Record, again.Within, again.Last
	}
}

// Revoke marks d as Lost, since others may have its record. It ends d's context, and takes back the
// deliveries behind d.
func (r *Runner) Revoke(d *Delivery) (behind []*Delivery) {
	d.Lost = true
	if d.State == Waiting || d.State >= Finished {
		return nil
	}
	for _, w := range r.active {
		if w.delivery == d {
			w.end(context.Canceled)
		}
	}
	return r.withdrawBehind(d)
}

// Cancel pauses the runner, and ends the contexts of all running deliveries with err.
// Handlers that do not return within the grace are abandoned.
func (r *Runner) Cancel(err error) (running int) {
	r.paused = true
	r.idleShared()
	r.checkIdle()
	for _, w := range r.active {
		if w.delivery != nil {
			running++
			w.end(err)
		}
	}
	return running
}

// GiveUp abandons all running handlers. Nothing is started any more.
func (r *Runner) GiveUp() {
	r.paused = true
	for k := len(r.active) - 1; k >= 0; k-- {
		if w := r.active[k]; w.delivery != nil {
			w.giveUp()
		}
	}
	for _, d := range slices.Clone(r.deciding) {
		d.Resolve(false)
	}
}

// Resolve ends the decision about d, if d is still Deciding. If the record is gone, the caller has set
// its outcome, and its group goes on. Otherwise d fails.
func (d *Delivery) Resolve(gone bool) {
	r := d.runner
	if d.State != Deciding {
		return
	}
	r.deciding = slices.DeleteFunc(r.deciding, func(other *Delivery) bool { return other == d })
	if gone {
		r.advance(d)
		r.report(d)
	} else {
		r.fail(d)
	}
	r.notifyAside(d)
	r.addWorker()
}
