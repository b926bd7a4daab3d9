// Package notify calls hooks beside those who must not wait for them.
package notify

import (
	"slices"
	"sync"
	"time"
)

// HungAfter is after how long a hook, which should take no time, counts as one that
// hangs.
const HungAfter = 30 * time.Second

const (
	// slowAfter is after how long a hook holds up no others.
	slowAfter  = 10 * time.Millisecond
	maxCallers = 100
	// maxNotices bounds what waits for hooks that hang; beyond it, hooks are not told.
	maxNotices = 10_000
)

// Queue calls functions that call hooks, one after the other as long as they are quick.
// The zero value is ready. Its methods are safe for concurrent use.
type Queue struct {
	mu      sync.Mutex
	notices []func()
	callers []*caller
	latest  time.Time     // when the latest call began
	idle    chan struct{} // closed when all have returned
}

// caller is a goroutine that calls hooks.
type caller struct{ since time.Time }

// Notify has f called.
func (n *Queue) Notify(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.notices) >= maxNotices {
		return
	}
	n.notices = append(n.notices, f)
	if len(n.callers) == 0 || len(n.callers) < maxCallers && time.Since(n.latest) > slowAfter {
		n.start()
	}
}

func (n *Queue) start() {
	if len(n.callers) == 0 {
		n.idle = make(chan struct{})
	}
	n.latest = time.Now()
	c := &caller{n.latest}
	n.callers = append(n.callers, c)
	go n.run(c)
}

func (n *Queue) run(c *caller) {
	returned := false
	defer func() {
		if !returned { // a hook has ended the goroutine
			go n.run(c)
		}
	}()
	for f := n.next(c); f != nil; f = n.next(c) {
		f()
	}
	returned = true
}

// next takes what c calls next, or ends c.
func (n *Queue) next(c *caller) (f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.notices) == 0 {
		n.notices = nil
		n.callers = slices.DeleteFunc(n.callers, func(other *caller) bool { return other == c })
		if len(n.callers) == 0 {
			close(n.idle)
		}
		return nil
	}
	f, n.notices[0] = n.notices[0], nil
	n.notices = n.notices[1:]
	n.latest = time.Now()
	c.since = n.latest
	return f
}

// Hung reports whether a hook hangs.
func (n *Queue) Hung(now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.ContainsFunc(n.callers, func(c *caller) bool { return now.Sub(c.since) > HungAfter })
}

// Last has what waits for slow hooks called side by side. What it returns is closed
// when all have returned.
func (n *Queue) Last() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	for range n.notices {
		n.start()
	}
	if n.idle == nil {
		n.idle = make(chan struct{})
		close(n.idle)
	}
	return n.idle
}
