package runner

import (
	"time"

	"github.com/sqsbatch/sqsbatch/internal/sleep"
)

// enter brings a delivery into another state.
func (r *Runner) enter(d *Delivery, s State) {
	r.counts[d.State]--
	if d.State = s; s != Finished {
		r.counts[s]++
	}
}

type groupKey struct{ queue, id string }

func keyOf(d *Delivery) groupKey { return groupKey{d.Record.QueueARN, d.Record.GroupID} }

// Pause starts nothing more until [Runner.Resume]. A runner pauses by itself after an abort
// ([batch.Abort]).
func (r *Runner) Pause() {
	if !r.paused {
		r.paused = true
		r.idleShared() // no other record will come soon
	}
}

// startable reports whether a delivery may start.
func (r *Runner) startable() bool { return !r.paused && r.ready.first != nil }

func (r *Runner) signal() { sleep.Wake(r.options.Wake) }

// Idle reports whether nothing runs, no hook is being called, and no added delivery will be
// started.
func (r *Runner) Idle() bool {
	return r.counts[Running]+r.counts[Deciding]+r.notifying == 0 &&
		(r.counts[Waiting] == 0 || r.paused)
}

// checkIdle wakes the owner when nothing runs any more. It calls idleShared if all running records
// wait for others to join them, and no other record can start.
func (r *Runner) checkIdle() {
	if r.Idle() {
		r.signal()
	}
	if len(r.shared) == 0 || !r.closed || r.startable() && len(r.active) < r.slots && (r.share == nil || !r.share.full()) {
		return
	}
	n := 0
	for _, v := range r.shared {
		n += v.Waiting()
	}
	if n >= len(r.active) {
		r.idleShared()
	}
}

// Load is the state of a runner at one moment.
type Load struct {
	Waiting, Running, Deciding int // deliveries
	Ready                      int // those of Waiting that wait for a slot only
	Slots                      int // in use
	Abandoned                  int // handlers that were given up and still run
	Oldest                     time.Duration
	InHook                     time.Duration // the longest that a hook has been running
}

// Load returns the runner's state. It looks at each worker.
func (r *Runner) Load() Load {
	l, now := r.Count(), time.Now()
	for _, w := range r.active {
		if w.delivery != nil {
			l.Oldest = max(l.Oldest, now.Sub(w.delivery.Result.Started))
		}
		if !w.inHook.IsZero() {
			l.InHook = max(l.InHook, now.Sub(w.inHook))
		}
	}
	return l
}

// Count is Load without the values that need a look at each worker.
func (r *Runner) Count() Load {
	return Load{
		Waiting: r.counts[Waiting], Running: r.counts[Running], Deciding: r.counts[Deciding],
		Ready: r.ready.n, Slots: len(r.active), Abandoned: r.abandoned,
	}
}

// Shared is a value that handlers of a runner share, see [View.Shared]. Its methods are called with
// the runner's lock.
type Shared interface {
	// Waiting returns the number of running records that wait for others to join them.
	Waiting() int
	// Idle is called when no record will join.
	Idle()
}

// idleShared notifies what handlers share that no record will join.
func (r *Runner) idleShared() {
	for _, v := range r.shared {
		v.Idle()
	}
}
