package longpoll

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

const (
	// hungAfter is after how long a hook, which should take no time, counts as one
	// that hangs.
	hungAfter = 30 * time.Second
	// slowAfter is after how long a hook holds up no others.
	slowAfter  = 10 * time.Millisecond
	maxCallers = 100
	// maxNotices bounds what waits for hooks that hang; beyond it, hooks are not told.
	maxNotices = 10_000
)

// notifier calls hooks, one after the other as long as they are quick.
type notifier struct {
	mu      sync.Mutex
	notices []func()
	callers []*caller
	latest  time.Time     // when the latest call began
	idle    chan struct{} // closed when all have returned
}

// caller is a goroutine that calls hooks.
type caller struct{ since time.Time }

// notify has f called, which calls hooks.
func (n *notifier) notify(f func()) {
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

func (n *notifier) start() {
	if len(n.callers) == 0 {
		n.idle = make(chan struct{})
	}
	n.latest = time.Now()
	c := &caller{n.latest}
	n.callers = append(n.callers, c)
	go n.run(c)
}

func (n *notifier) run(c *caller) {
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
func (n *notifier) next(c *caller) (f func()) {
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

// hung reports whether a hook hangs.
func (n *notifier) hung(now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.ContainsFunc(n.callers, func(c *caller) bool { return now.Sub(c.since) > hungAfter })
}

// last has what waits for slow hooks called side by side. What it returns is closed
// when all have returned.
func (n *notifier) last() <-chan struct{} {
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
