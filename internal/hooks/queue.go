package hooks

import (
	"sync"
	"time"
)

// HungAfter is how long a hook may take before it counts as hung.
const HungAfter = 30 * time.Second

// maxWaiting limits the functions that wait behind a hook that hangs. Any more are dropped.
const maxWaiting = 10_000

// Queue calls functions that call hooks, in order, on a goroutine of its own. A hook that
// blocks delays the calls behind it. The zero value is ready to use. Its methods are safe for
// concurrent use.
type Queue struct {
	mu      sync.Mutex
	waiting []func()
	since   time.Time // when the current call began; zero if there is none
}

// Notify has f called soon.
func (q *Queue) Notify(f func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) < maxWaiting {
		q.add(f)
	}
}

var closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// Last returns a channel that is closed when all functions that wait have been called.
func (q *Queue) Last() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.since.IsZero() {
		return closed
	}
	done := make(chan struct{})
	q.add(func() { close(done) })
	return done
}

func (q *Queue) add(f func()) {
	q.waiting = append(q.waiting, f)
	if q.since.IsZero() {
		q.since = time.Now()
		go q.run()
	}
}

// run calls functions until none waits.
func (q *Queue) run() {
	f := q.next()
	defer func() {
		if f != nil { // it has ended this goroutine by runtime.Goexit
			go q.run()
		}
	}()
	for ; f != nil; f = q.next() {
		f()
	}
}

// next returns the function to call next, or nil if none waits.
func (q *Queue) next() func() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.waiting, q.since = nil, time.Time{}
		return nil
	}
	f := q.waiting[0]
	q.waiting[0] = nil
	q.waiting, q.since = q.waiting[1:], time.Now()
	return f
}

// Hung reports whether a hook hangs.
func (q *Queue) Hung(now time.Time) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return !q.since.IsZero() && now.Sub(q.since) > HungAfter
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
