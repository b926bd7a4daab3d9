package longpoll

import (
	"context"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

const (
	// hungAfter is after how long a hook, which should take no time, counts as one
	// that hangs.
	hungAfter = 30 * time.Second
	// maxNotices bounds what waits for a hook that hangs; beyond it, hooks are not told.
	maxNotices = 10_000
)

// notifier calls hooks, one after the other, so that one that blocks holds up
// nothing but the others.
type notifier struct {
	mu      sync.Mutex
	notices []func()
	began   time.Time     // of the call under way; zero without one
	idle    chan struct{} // closed when all have returned; nil while nothing is called
}

// notify has f called, which calls hooks.
func (n *notifier) notify(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.notices) >= maxNotices {
		return
	}
	n.notices = append(n.notices, f)
	if n.idle == nil {
		n.idle = make(chan struct{})
		go n.run()
	}
}

func (n *notifier) run() {
	returned := false
	defer func() {
		if !returned { // a hook has ended the goroutine
			go n.run()
		}
	}()
	for f := n.next(); f != nil; f = n.next() {
		f()
	}
	returned = true
}

// next takes what is to be called next, or ends the goroutine.
func (n *notifier) next() (f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.notices) == 0 {
		close(n.idle)
		n.idle, n.notices, n.began = nil, nil, time.Time{}
		return nil
	}
	f, n.notices[0] = n.notices[0], nil
	n.notices, n.began = n.notices[1:], time.Now()
	return f
}

// hung reports whether a hook hangs.
func (n *notifier) hung(now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.began.IsZero() && now.Sub(n.began) > hungAfter
}

// flush has the rest called side by side, since a hook blocks.
func (n *notifier) flush() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, f := range n.notices {
		go f()
	}
	clear(n.notices)
	n.notices = n.notices[:0]
}

// told is closed when all have been called.
func (n *notifier) told() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.idle != nil {
		return n.idle
	}
	idle := make(chan struct{})
	close(idle)
	return idle
}

func (p *Poller) notifiers() []*notifier { return []*notifier{&p.notices, &p.notifier} }

// warn tells the hooks of a warning.
func (p *Poller) warn(w batch.Warning) {
	w.Queue = batch.QueueName(p.cfg.Queue)
	p.notify(func() { p.hooks.Warn(context.WithoutCancel(p.base), w) })
}

// called tells the hooks of calls.
func (p *Poller) called(calls ...batch.Call) {
	if !p.hooks.WantsCalls() {
		return
	}
	for _, c := range calls {
		p.notices.notify(func() { p.hooks.Called(context.WithoutCancel(p.base), c) })
	}
}

// settlersHook is what the settler tells. It passes a warning on unless it passed the
// same in the last minutes: settling goes on all the time, and so may what is wrong
// with it.
type settlersHook struct {
	*Poller
	mu   sync.Mutex
	told map[string]time.Time
}

// Warned implements [batch.WarningHook].
func (s *settlersHook) Warned(_ context.Context, w batch.Warning) {
	if w.MessageID == "" && s.toldOf(w.Message) {
		return
	}
	s.warn(w)
}

func (s *settlersHook) toldOf(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if at, ok := s.told[text]; ok && now.Sub(at) < remindEvery {
		return true
	}
	if s.told == nil || len(s.told) > 100 {
		s.told = make(map[string]time.Time)
	}
	s.told[text] = now
	return false
}

// Called implements [batch.CallHook].
func (s *settlersHook) Called(_ context.Context, c batch.Call) { s.called(c) }
