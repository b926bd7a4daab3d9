// Package runner handles deliveries by one handler. A [Runner] knows slots, FIFO
// groups and deadlines, and gives up on handlers that ignore the end of their
// context. On Lambda there is one for each invocation, in a container one for the life
// of a poller. Its owner adds deliveries, and takes those that are finished:
//
//	Waiting → Running → Finished
//	             └→ Deciding ┘   a FIFO record that failed, while others wait for it
//
// A runner calls the handler, hooks and [Options].LastAttempt without its lock. With its
// lock it calls only Idle of what bulk shares, see [View.Shared].
package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

// Options say how a runner differs from the others of its engine.
type Options struct {
	// Times are an invocation's; zero in a container.
	Times batch.Times
	// LastAttempt is asked for [Delivery].Last where that is not set, before a record
	// starts that others of its group wait for; nil for never. It may block for a moment.
	LastAttempt func(*batch.Record) bool
	// Decides says that the owner calls [Runner.Resolve] for each delivery that
	// failed while others of its FIFO group wait for it.
	Decides bool
}

// Runner handles deliveries. Make it with [Engine.NewRunner]. Its methods are safe
// for concurrent use.
type Runner struct {
	*Engine
	options Options
	parent  context.Context
	wake    chan struct{}

	mu        sync.Mutex
	ready     ready // heads of groups, and records of standard queues
	groups    map[groupKey]*group
	active    []*worker // those that were not given up
	spare     []*worker // to be used again
	slots     int
	growing   bool // a worker was started and has not taken its first delivery
	held      bool // nothing is started
	closed    bool // nothing more is added
	over      bool // nothing is started any more, nor told
	aborted   *batch.AbortError
	waiting   int // deliveries
	running   int
	deciding  []*Delivery
	telling   int // calls of hooks about deliveries that are finished
	abandoned int // handlers that were given up and still run
	finished  []*Delivery
	pace      pace

	shared  shared // what handlers keep, see View
	parked  int    // running deliveries that wait for others
	answers int    // deliveries that are not started and have an answer
}

// ErrLeaseExpired is the error of a delivery that was not started because others may
// have received it.
var ErrLeaseExpired = errors.New("longpoll: not started, the record's visibility timeout is over")

// NewRunner returns a runner. The contexts of its handlers have ctx's values and end.
func (e *Engine) NewRunner(ctx context.Context, o Options) *Runner {
	return &Runner{Engine: e, options: o, parent: ctx, wake: make(chan struct{}, 1), slots: e.cfg.Concurrency}
}

// Add takes deliveries, in order.
func (r *Runner) Add(list ...*Delivery) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range list {
		r.add(d)
	}
	r.grow()
}

func (r *Runner) add(d *Delivery) {
	d.runner, d.ctx.delivery, d.Result.Record = r, d, d.Record
	r.waiting++
	if !d.Cutoff.IsZero() {
		d.added = time.Now()
	}
	if !d.Record.FIFO() {
		r.ready.pushBack(d)
		return
	}
	key := groupKey{d.Record.QueueARN, d.Record.GroupID}
	if g := r.groups[key]; g != nil {
		d.group, g.last.next, g.last = g, d, d
		return
	}
	if r.groups == nil {
		r.groups = make(map[groupKey]*group)
	}
	d.group = &group{key: key, last: d}
	r.groups[key] = d.group
	r.ready.pushBack(d)
}

// Hold starts nothing more, until [Runner.Release]. A runner holds by itself when a
// handler says that all would fail ([batch.Abort]).
func (r *Runner) Hold() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hold()
}

func (r *Runner) hold() {
	r.held = true
	r.shared.idle() // no other will come soon, see View
}

// Release ends a hold, and has so many run at a time at most. It does not if the runner
// holds because of a delivery that its owner has not taken yet.
func (r *Runner) Release(slots int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.slots = slots
	if slices.ContainsFunc(r.finished, func(d *Delivery) bool { return d.Verdict.Aborts }) {
		return
	}
	r.held = false
	r.grow()
}

// Withdraw takes back, in order, what has not been started. While the one of a group
// that runs may handle others as well (see [View.Behind]), they finish as not started
// because of why, unless it did.
func (r *Runner) Withdraw(why error) (list []*Delivery) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list = r.withdraw(func(d *Delivery) bool { return d.answer == nil || r.over })
	for _, w := range r.active {
		switch d := w.delivery; {
		case d == nil || d.next == nil:
		case d.next.claimed:
			d.next.cut = why
		default:
			list = append(list, r.cutBehind(d)...)
		}
	}
	for _, d := range r.deciding {
		list = append(list, r.cutBehind(d)...)
	}
	return list
}

// WithdrawOlder takes back what has been waiting for a slot since a time.
func (r *Runner) WithdrawOlder(since time.Time) []*Delivery {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.withdraw(func(d *Delivery) bool { return d.answer == nil && !d.added.After(since) })
}

// withdraw takes what is ready, with what waits for it.
func (r *Runner) withdraw(which func(*Delivery) bool) (list []*Delivery) {
	for d := r.ready.pop(which); d != nil; d = r.ready.pop(which) {
		r.waiting--
		r.forget(d)
		list = append(append(list, d), r.cutBehind(d)...)
		r.leave(d)
	}
	return list
}

// cutBehind takes what waits for d out of its group.
func (r *Runner) cutBehind(d *Delivery) (list []*Delivery) {
	for behind := d.next; behind != nil; behind = behind.next {
		list = append(list, behind)
	}
	for _, behind := range list {
		r.forget(behind)
		behind.next, behind.state = nil, finished
	}
	r.waiting -= len(list)
	if d.next = nil; d.group != nil {
		d.group.last = d
	}
	return list
}

// leave lets the next delivery of d's group have its turn.
func (r *Runner) leave(d *Delivery) {
	if d.state = finished; d.group == nil {
		return
	}
	if d.next == nil {
		delete(r.groups, d.group.key)
		return
	}
	for behind := d.next; behind != nil; behind = behind.next {
		behind.claimed, behind.cut = false, cmp.Or(d.cut, d.next.cut)
	}
	r.ready.pushFront(d.next) // before other groups: a worker is there for it
	d.next = nil
}

// Extend sets the Lease of a delivery: it is not started later than that, and nothing
// behind it in its group is.
func (r *Runner) Extend(d *Delivery, until time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d.Lease = until
}

// Renew is Extend for a delivery that was received again: what has not been started is
// what was received then.
func (r *Runner) Renew(d, again *Delivery) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d.Lease = again.Lease
	if d.state == waiting {
		d.Record, d.Cutoff, d.Last, d.added = again.Record, again.Cutoff, again.Last, time.Now()
		d.Result.Record = d.Record
	}
}

// Revoke ends the context of a delivery, since others may have it, and takes back what
// waits for it. What has not been started will not be.
func (r *Runner) Revoke(d *Delivery) (behind []*Delivery) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch d.state {
	case waiting:
		d.Lease = time.Now()
	case running:
		d.Lease = time.Now() // also where it is not handled yet
		d.worker.cancel()
		behind = r.cutBehind(d)
	case deciding:
		behind = r.cutBehind(d)
	}
	return behind
}

// Cancel holds, and ends the contexts of all that runs. Handlers that do not return
// within the grace are given up.
func (r *Runner) Cancel() (running int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hold()
	for _, w := range r.active {
		if w.delivery != nil {
			running++
			w.cancel()
		}
	}
	return running
}

// Finished appends what has finished, or waits for a decision, since the last call.
func (r *Runner) Finished(into []*Delivery) []*Delivery {
	r.mu.Lock()
	defer r.mu.Unlock()
	into = append(into, r.finished...)
	for _, d := range r.finished {
		d.handed = false
	}
	clear(r.finished)
	r.finished = r.finished[:0]
	return into
}

// Wake has a value after [Runner.Finished] got something, or the last has finished.
func (r *Runner) Wake() <-chan struct{} { return r.wake }

func (r *Runner) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// hand gives d to the owner. On Lambda it needs to know of no success before all is over.
func (r *Runner) hand(d *Delivery) {
	if r.closed && d.Result.Outcome == batch.Succeeded {
		return
	}
	if !d.handed {
		d.handed = true
		r.finished = append(r.finished, d)
	}
	r.signal()
}

// Resolve ends the wait of a delivery that is deciding, if it still is. gone is its
// result when it is out of its group's way, which goes on; nil when it has failed.
func (r *Runner) Resolve(d *Delivery, gone *batch.Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if d.state != deciding {
		return
	}
	r.deciding = slices.DeleteFunc(r.deciding, func(other *Delivery) bool { return other == d })
	if gone != nil {
		*d.Result = *gone
		r.succeed(d)
	} else {
		r.fail(d)
	}
	r.notify(d)
	r.grow()
	r.checkIdle()
}

// succeed ends a delivery that is done with.
func (r *Runner) succeed(d *Delivery) {
	next := d.next
	r.leave(d)
	r.hand(d)
	if next == nil {
		r.checkParked()
	}
}

// fail ends a delivery that has failed, and skips those that wait for it.
func (r *Runner) fail(d *Delivery) {
	d.state = finished
	if d.group != nil {
		delete(r.groups, d.group.key)
	}
	for behind := d.next; behind != nil; behind = behind.next {
		r.waiting--
		r.forget(behind)
		behind.state = finished
		if d.Result.Outcome == batch.NotStarted {
			behind.Result.Outcome, behind.Result.Err = batch.NotStarted, d.Result.Err
			continue
		}
		behind.Result.Outcome = batch.Skipped
		behind.Result.Err = fmt.Errorf("%w: record %s of its group failed before it", batch.ErrSkipped, d.Record.MessageID)
	}
	r.hand(d)
}

// abort holds if d's error says that all others would fail; the longest time counts.
func (r *Runner) abort(d *Delivery) {
	if !d.Verdict.Aborts {
		return
	}
	if r.aborted == nil || d.Verdict.After > r.aborted.After {
		r.aborted = &batch.AbortError{After: d.Verdict.After, Err: d.Result.Err}
	}
	r.hold()
}

// decides reports whether the owner is asked whether d, which failed, can be put out
// of the way of those behind it. Without that they would share its attempts, and its
// end: SQS gives up on each of them after the same number of deliveries, whether a
// handler saw it or not.
func (r *Runner) decides(d *Delivery, now time.Time) bool {
	cutoff := r.cutoff(d)
	return r.options.Decides && d.next != nil && !r.held && (cutoff.IsZero() || now.Before(cutoff))
}

// notify tells the hooks of a delivery that has no goroutine. The caller holds the
// lock.
func (r *Runner) notify(d *Delivery) {
	if !r.hooks.WantsFinished() {
		return
	}
	list := copies(d)
	r.telling++
	go func() {
		defer r.told()
		r.tell(d, list)
	}()
}

func (r *Runner) told() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.telling--
	r.checkIdle()
}

// tell tells the hooks of a delivery, in its context, and of those that were skipped
// for it.
func (r *Runner) tell(d *Delivery, list []batch.Result) {
	r.hooks.RecordFinished(&d.ctx, list[0])
	for _, skipped := range list[1:] {
		r.hooks.RecordFinished(batch.WithRecord(r.contextOf(d.Batch), *skipped.Record), skipped)
	}
}

// contextOf is the context of a batch, which may be nil.
func (r *Runner) contextOf(b *Batch) context.Context {
	if b == nil {
		return r.parent
	}
	return b.Context(r.parent)
}

// copies are for the hooks: the results may be settled before a slow one returns.
func copies(d *Delivery) (list []batch.Result) {
	list = append(list, *d.Result)
	if d.state != finished {
		return list
	}
	for d = d.next; d != nil; d = d.next {
		list = append(list, *d.Result)
	}
	return list
}

// idle reports whether nothing runs, and nothing will be started of what was added.
func (r *Runner) idle() bool {
	return r.running+len(r.deciding)+r.telling == 0 && (r.answers == 0 || r.over) && (r.held || r.waiting == 0)
}

// checkIdle wakes the owner when nothing runs any more.
func (r *Runner) checkIdle() {
	if r.idle() {
		r.signal()
	}
}

// Idle reports whether nothing runs or is told of, and nothing will be started of what
// was added.
func (r *Runner) Idle() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.idle()
}

// Load is how a runner is at one moment.
type Load struct {
	Waiting, Running, Deciding int // deliveries
	Ready                      int // those of Waiting that wait for a slot only
	Slots                      int // in use
	Abandoned                  int // handlers that were given up and still run
	Oldest                     time.Duration
	InHook                     time.Duration // the longest that a hook has been running
}

// Load costs a look at each worker.
func (r *Runner) Load() Load {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.count()
	now := time.Now()
	for _, w := range r.active {
		if w.delivery != nil {
			l.Oldest = max(l.Oldest, now.Sub(w.delivery.Result.Started))
		}
		if since := w.hook.Load(); since != nil {
			l.InHook = max(l.InHook, now.Sub(*since))
		}
	}
	return l
}

// Count is Load without what takes a look at each worker.
func (r *Runner) Count() Load {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count()
}

func (r *Runner) count() Load {
	return Load{Waiting: r.waiting, Ready: r.ready.n, Running: r.running, Deciding: len(r.deciding), Slots: len(r.active), Abandoned: r.abandoned}
}
