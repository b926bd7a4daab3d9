// Package notify calls hooks so that their callers do not have to wait, or only for a
// limited time.
package notify

import (
	"sync"
	"time"
)

// HungAfter is how long a hook may take before it counts as hung.
const HungAfter = 30 * time.Second

const (
	// slowAfter is how long a hook may delay the calls behind it. After that, the next one
	// runs concurrently.
	slowAfter = 10 * time.Millisecond
	// maxCallers limits the hooks that are called at the same time, except by Last.
	maxCallers = 100
	// maxWaiting limits the functions that wait behind hooks that hang. Any more are
	// dropped.
	maxWaiting = 10_000
)

// Queue calls functions that call hooks, one after another as long as they are quick. The
// zero value is ready to use. Its methods are safe for concurrent use.
type Queue struct {
	mu       sync.Mutex
	waiting  []func()
	callers  map[*caller]bool
	latest   time.Time     // when the latest call began
	watching bool          // a timer will call check
	idle     chan struct{} // closed when the last caller has ended
}

// caller is a goroutine that calls hooks.
type caller struct{ since time.Time }

// Notify has f called soon, on another goroutine.
func (q *Queue) Notify(f func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) >= maxWaiting {
		return
	}
	q.waiting = append(q.waiting, f)
	if len(q.callers) == 0 {
		q.start()
	} else {
		q.watch()
	}
}

// start adds a caller.
func (q *Queue) start() {
	if len(q.callers) == 0 {
		q.callers, q.idle = make(map[*caller]bool), make(chan struct{})
	}
	q.latest = time.Now()
	c := &caller{q.latest}
	q.callers[c] = true
	go q.run(c)
}

func (q *Queue) run(c *caller) {
	ended := false
	defer func() {
		if !ended { // a hook has called runtime.Goexit
			go q.run(c)
		}
	}()
	for f := q.next(c); f != nil; f = q.next(c) {
		f()
	}
	ended = true
}

// next returns what c calls next, or nil when c ends.
func (q *Queue) next(c *caller) func() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.waiting = nil
		delete(q.callers, c)
		if len(q.callers) == 0 {
			close(q.idle)
		}
		return nil
	}
	f := q.waiting[0]
	q.waiting[0] = nil
	q.waiting = q.waiting[1:]
	q.latest = time.Now()
	c.since = q.latest
	return f
}

// watch sets a timer for the time at which the latest call counts as slow. It is set as
// long as something waits that another caller could call.
func (q *Queue) watch() {
	if !q.watching && len(q.waiting) > 0 && len(q.callers) < maxCallers {
		q.watching = true
		time.AfterFunc(time.Until(q.latest.Add(slowAfter)), q.check)
	}
}

// check adds a caller if the latest call is slow.
func (q *Queue) check() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.watching = false
	if len(q.waiting) > 0 && time.Since(q.latest) >= slowAfter {
		q.start()
	}
	q.watch()
}

// Hung reports whether a hook hangs.
func (q *Queue) Hung(now time.Time) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for c := range q.callers {
		if now.Sub(c.since) > HungAfter {
			return true
		}
	}
	return false
}

// Last calls all waiting functions concurrently. It returns a channel that is closed when
// all calls have returned.
func (q *Queue) Last() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	for range q.waiting {
		q.start()
	}
	if q.idle == nil {
		q.idle = make(chan struct{})
		close(q.idle)
	}
	return q.idle
}

// Within runs f, which may block. It waits for f until late has a value; if late is nil, as
// long as f takes. It reports whether f has returned.
func Within(late <-chan time.Time, f func()) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
		return true
	case <-late:
		return false
	}
}
