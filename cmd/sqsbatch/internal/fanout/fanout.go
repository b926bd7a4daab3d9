// Package fanout gives events to listeners, none of which can hold up the place
// where the events happen:
//
//	var events fanout.Fanout[sqs.Event]
//	stop := events.Listen(4096, func(batch []sqs.Event, lost int) { … })
//	options.Observe = events.Send
package fanout

import (
	"sync"
	"time"
)

// A Fanout hands every event to each of its listeners. The zero value has none.
type Fanout[E any] struct {
	mu        sync.Mutex
	listeners []*listener[E]
}

type listener[E any] struct {
	limit int
	wake  chan struct{} // capacity 1: something waits
	ended chan struct{}

	mu      sync.Mutex
	waiting []E
	lost    int // after those that wait
}

// Send gives an event to each listener and returns at once.
func (f *Fanout[E]) Send(e E) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, l := range f.listeners {
		l.add(e)
	}
}

// Listen has handle called with the events that are sent from now on, in their
// order and never twice at a time. At most limit events wait for a handle that
// is slow. Those beyond it are lost, and lost tells how many they were, between
// this batch and the next.
//
// The function that Listen returns ends the listening. It waits, but no longer
// than a time, until handle has had what was sent before.
func (f *Fanout[E]) Listen(limit int, handle func(batch []E, lost int)) (stop func(wait time.Duration)) {
	l := &listener[E]{limit: limit, wake: make(chan struct{}, 1), ended: make(chan struct{})}
	f.mu.Lock()
	f.listeners = append(f.listeners, l)
	f.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.run(handle)
	}()
	end := sync.OnceFunc(func() { f.remove(l) })
	return func(wait time.Duration) {
		end()
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-done:
		case <-timer.C:
		}
	}
}

func (f *Fanout[E]) remove(l *listener[E]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.listeners {
		if f.listeners[i] == l {
			f.listeners = append(f.listeners[:i:i], f.listeners[i+1:]...)
			break
		}
	}
	close(l.ended)
}

func (l *listener[E]) add(e E) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) == l.limit {
		l.lost++
		return
	}
	l.waiting = append(l.waiting, e)
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// run ends when the listening has ended and nothing waits.
func (l *listener[E]) run(handle func(batch []E, lost int)) {
	for ended := false; ; {
		l.mu.Lock()
		batch, lost := l.waiting, l.lost
		l.waiting, l.lost = nil, 0
		l.mu.Unlock()
		switch {
		case len(batch) > 0:
			handle(batch, lost)
			continue
		case ended:
			return
		}
		select {
		case <-l.wake:
		case <-l.ended:
			ended = true
		}
	}
}
