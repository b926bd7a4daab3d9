// Package sharedcall calls a function one at a time for many callers. Callers that come
// while a call runs share the next one:
//
//	calls := sharedcall.New(flush)
//	ok := calls.Do(ctx)
//
// So no caller waits for more than two calls, however many come at once, and a call that
// begins after Do sees everything that its caller did before Do.
package sharedcall

import (
	"context"
	"sync"
	"time"
)

// Calls calls a function for many callers. It is safe for concurrent use.
type Calls struct {
	f func(context.Context)

	mu      sync.Mutex
	running *call // nil when there is none
	next    *call // begins when that has returned; nil while no caller waits for it
}

// call is one call.
type call struct {
	values    context.Context // of the first who wanted it
	until     time.Time       // the last of the times up to which it is waited for
	unbounded bool            // there is no last one
	waiting   int             // how many wait for it
	left      bool            // someone stopped waiting for it, or for it to return
	cancel    context.CancelFunc
	done      chan struct{} // closed when it has returned
}

// New returns the calls of f, which must catch its own panics. Its context has the values
// of the first caller, and ends when no caller waits any longer.
func New(f func(ctx context.Context)) *Calls { return &Calls{f: f} }

// Do returns when a call that began after it has returned, or when ctx ends. It returns
// false if no such call was started: ctx ended first, or a call still runs for which others
// have already waited without success.
func (c *Calls) Do(ctx context.Context) bool {
	one := c.join(ctx)
	if one == nil {
		return false
	}
	select {
	case <-one.done:
		return true
	case <-ctx.Done():
		return c.leave(one)
	}
}

// Try makes a call that does not end with ctx, and returns when it has returned. It returns
// false, without waiting, if another call runs.
func (c *Calls) Try(ctx context.Context) bool {
	c.mu.Lock()
	if c.running != nil {
		c.mu.Unlock()
		return false
	}
	one := &call{values: ctx, unbounded: true, done: make(chan struct{})}
	c.begin(one)
	c.mu.Unlock()
	<-one.done
	return true
}

// join returns the call to wait for, nil if there will be none.
func (c *Calls) join(ctx context.Context) *call {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running != nil && c.running.left && c.running.waiting == 0 {
		return nil
	}
	if c.next == nil {
		c.next = &call{values: ctx, done: make(chan struct{})}
	}
	one := c.next
	one.waiting++
	if until, bounded := ctx.Deadline(); !bounded {
		one.unbounded = true
	} else if until.After(one.until) {
		one.until = until
	}
	if c.running == nil {
		c.next = nil
		c.begin(one)
	}
	return one
}

// begin begins a call; the caller holds the lock. It lasts as long as anyone
// waits for it, not as long as the first caller does.
func (c *Calls) begin(one *call) {
	c.running = one
	ctx := context.WithoutCancel(one.values)
	if one.unbounded {
		ctx, one.cancel = context.WithCancel(ctx)
	} else {
		ctx, one.cancel = context.WithDeadline(ctx, one.until)
	}
	go func() {
		defer close(one.done)
		defer c.ended()
		defer one.cancel()
		c.f(ctx)
	}()
}

// ended begins the next call when one has returned.
func (c *Calls) ended() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running = nil
	if next := c.next; next != nil {
		c.next = nil
		c.begin(next)
	}
}

// leave is for callers that wait no longer. It reports whether the call was
// begun, or will be since others wait for it.
func (c *Calls) leave(one *call) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	one.waiting--
	one.left = true
	begun := c.next != one
	if !begun {
		c.running.left = true
	}
	switch {
	case one.waiting > 0:
		return true
	case begun:
		one.cancel()
		return true
	}
	c.next = nil
	return false
}
