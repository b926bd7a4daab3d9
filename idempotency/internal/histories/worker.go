package histories

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/test/random"
)

type kind string

const (
	claim    kind = "claim"
	renew    kind = "renew"
	complete kind = "complete"
	release  kind = "release"
)

// call is one call of a worker, with its answer.
type call struct {
	kind       kind
	key, owner string
	result     string // of a completion
	lease      int64  // nanoseconds
	begin, end int64  // since the history began

	unknown bool // no answer: the call may take effect at any time after begin
	refused bool // ErrNotOwner
	found   idempotency.Found
}

func (c *call) String() string {
	answer := "ok"
	switch {
	case c.unknown:
		answer = "no answer"
	case c.refused:
		answer = "not the owner"
	case c.kind == claim:
		answer = fmt.Sprintf("%v %s %v", c.found.State, c.found.Result, c.found.Left)
	}
	return fmt.Sprintf("%-14v %-14v %-3s %-8s %-8v %s", time.Duration(c.begin), time.Duration(c.end), c.owner, c.kind, time.Duration(c.lease), answer)
}

// recorder records the calls of a history.
type recorder struct {
	began time.Time
	ctx   context.Context

	mu    sync.Mutex
	calls []*call
}

func (r *recorder) now() int64 { return time.Since(r.began).Nanoseconds() }

func (r *recorder) add(c *call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, c)
}

// ended returns the calls after the history, when no call is on its way.
func (r *recorder) ended() []*call {
	end := r.now() + 1
	for _, c := range r.calls {
		if c.unknown {
			c.end = end
		}
	}
	return r.calls
}

type callKey struct{}

// do makes a call and records it.
func (r *recorder) do(c *call, f func(ctx context.Context) error) error {
	c.begin = r.now()
	err := f(context.WithValue(r.ctx, callKey{}, *c))
	c.end = r.now()
	c.refused = errors.Is(err, idempotency.ErrNotOwner)
	c.unknown = err != nil && !c.refused
	r.add(c)
	return err
}

// hidden records a call without answer that the client retries. It may take effect at any time.
func (r *recorder) hidden(ctx context.Context) {
	if c, ok := ctx.Value(callKey{}).(call); ok {
		c.unknown = true
		r.add(&c)
	}
}

// worker makes the calls of real workers, and wrong ones.
type worker struct {
	*recorder
	store      idempotency.Store
	lease      time.Duration
	random     random.Rand
	key, owner string
}

const ever = 24 * time.Hour

func (w *worker) chance(percent int) bool { return w.random.IntN(100) < percent }

// pause sleeps mostly for less than a lease, and sometimes for more.
func (w *worker) pause() {
	d := time.Duration(w.random.Int64N(int64(w.lease)))
	if w.chance(25) {
		d += w.lease
	}
	time.Sleep(d)
}

// task makes all calls of one owner.
func (w *worker) task() {
	w.pause()
	if !w.claimed() {
		if w.chance(20) {
			w.anything() // without a claim
		}
		return
	}
	for w.chance(50) {
		w.pause()
		_ = w.renew()
	}
	w.pause()
	switch n := w.random.IntN(100); {
	case n < 25:
		w.retry(w.complete)
	case n < 70:
		w.retry(w.release)
	default:
		return // killed
	}
	for w.chance(40) {
		w.pause()
		w.anything() // late
	}
}

// claimed claims the key, and sometimes once more.
func (w *worker) claimed() bool {
	var found idempotency.Found
	w.retry(func() (err error) {
		found, err = w.claim()
		return err
	})
	if found.State == idempotency.Claimed && w.chance(10) {
		found, _ = w.claim()
	}
	return found.State == idempotency.Claimed
}

func (w *worker) retry(f func() error) {
	if err := f(); err != nil && !errors.Is(err, idempotency.ErrNotOwner) && w.chance(50) {
		w.pause()
		_ = f()
	}
}

func (w *worker) anything() {
	switch w.random.IntN(3) {
	case 0:
		_ = w.renew()
	case 1:
		_ = w.complete()
	default:
		_ = w.release()
	}
}

func (w *worker) claim() (found idempotency.Found, err error) {
	lease := w.lease/4 + time.Duration(w.random.Int64N(int64(w.lease)))
	c := &call{kind: claim, key: w.key, owner: w.owner, lease: lease.Nanoseconds()}
	err = w.do(c, func(ctx context.Context) error {
		c.found, err = w.store.Claim(ctx, idempotency.Claim{Key: w.key, Owner: w.owner, Lease: lease, Remember: ever})
		return err
	})
	return c.found, err
}

func (w *worker) renew() error {
	lease := w.lease/4 + time.Duration(w.random.Int64N(int64(w.lease)))
	return w.do(&call{kind: renew, key: w.key, owner: w.owner, lease: lease.Nanoseconds()}, func(ctx context.Context) error {
		return w.store.Renew(ctx, w.key, w.owner, lease)
	})
}

func (w *worker) complete() error {
	c := &call{kind: complete, key: w.key, owner: w.owner, result: w.owner + "'s"}
	return w.do(c, func(ctx context.Context) error {
		return w.store.Complete(ctx, w.key, w.owner, idempotency.Completion{Result: []byte(c.result), Remember: ever})
	})
}

func (w *worker) release() error {
	return w.do(&call{kind: release, key: w.key, owner: w.owner}, func(ctx context.Context) error {
		return w.store.Release(ctx, w.key, w.owner)
	})
}
