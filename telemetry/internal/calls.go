// Package adapter has what several adapters of telemetry share.
package adapter

import (
	"context"
	"sync"
	"time"
)

// Calls calls a function one at a time for many callers. Callers that come while a call runs
// share the next one. So no caller waits for more than two calls, however many callers there
// are. A call that starts after Do sees all effects of its caller before Do. It is safe for
// concurrent use.
type Calls struct {
	f func(context.Context)

	mu      sync.Mutex
	running *call // nil for none
	next    *call // starts after running; nil while no caller waits for it
}

// call is one call of the function.
type call struct {
	values    context.Context // of the first caller
	until     time.Time       // the latest deadline of a caller
	unbounded bool            // a caller has no deadline
	waiting   int             // number of callers that wait
	left      bool            // a caller stopped waiting
	cancel    context.CancelFunc
	done      chan struct{} // closed when the function has returned
}

// NewCalls returns the calls of f, which must catch its own panics. Its context has the values
// of the first caller, and ends when no caller waits any longer.
func NewCalls(f func(ctx context.Context)) *Calls { return &Calls{f: f} }

// Do returns when a call that started after Do has returned, or when ctx ends. It returns
// false if no such call was started: ctx ended first, or an earlier call still runs for which
// all callers have stopped waiting.
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

// Try makes a call that does not end with ctx, and waits for it. If another call runs, Try
// returns false at once.
func (c *Calls) Try(ctx context.Context) bool {
	c.mu.Lock()
	if c.running != nil {
		c.mu.Unlock()
		return false
	}
	one := &call{values: ctx, unbounded: true, done: make(chan struct{})}
	c.start(one)
	c.mu.Unlock()
	<-one.done
	return true
}

// join returns the call to wait for, or nil if there will be none.
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
		c.start(one)
	}
	return one
}

// start starts a call, whose context lasts as long as any caller waits, not only the first.
// Callers hold the lock.
func (c *Calls) start(one *call) {
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

// ended starts the next call after one has returned.
func (c *Calls) ended() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running = nil
	if next := c.next; next != nil {
		c.next = nil
		c.start(next)
	}
}

// leave is called when a caller stops waiting. It reports whether the call was started, or will
// be because others wait.
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
