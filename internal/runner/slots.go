package runner

import (
	"slices"
	"sync"
)

// Slots limit how many deliveries several runners handle at the same time in total. A free
// slot goes to a runner with the highest priority, and of several to the one that has the
// fewest slots. Running deliveries are never interrupted for that.
type Slots struct {
	total int

	mu     sync.Mutex
	used   int
	shares []*share // the one that got its latest slot first is the first
}

// NewSlots returns a number of slots.
func NewSlots(total int) *Slots { return &Slots{total: total} }

// share is what one runner uses of slots. Its methods may be called with the runner's lock.
type share struct {
	slots    *Slots
	priority int
	grant    func() // uses a slot that it is given, or gives it back
	wake     func() // is called when slots are free again; must not block

	inUse int
	wants bool // it was refused one since it got the last
}

// join returns a share of the slots. grant is called by a goroutine of its own.
func (s *Slots) join(priority int, grant, wake func()) *share {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := &share{slots: s, priority: priority, grant: grant, wake: wake}
	s.shares = append(s.shares, a)
	return a
}

// leave ends a share: it takes no more slots, but may still give back the ones that it has.
func (a *share) leave() {
	s := a.slots
	s.mu.Lock()
	defer s.mu.Unlock()
	a.wants = false
	s.shares = slices.DeleteFunc(s.shares, func(b *share) bool { return a == b })
}

// acquire takes a slot, and reports whether one was free. If not, grant is called when one is.
func (a *share) acquire() bool {
	s := a.slots
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.wants = s.used == s.total; a.wants {
		return false
	}
	s.used++
	a.take()
	return true
}

// take gives the share one of the used slots.
func (a *share) take() {
	a.inUse++
	a.wants = false
	if i := slices.Index(a.slots.shares, a); i >= 0 {
		a.slots.shares = append(slices.Delete(a.slots.shares, i, i+1), a)
	}
}

// yields reports whether another share is to have the slot in which a delivery of this
// one has finished. If so, it is to be given back.
func (a *share) yields() bool {
	a.slots.mu.Lock()
	defer a.slots.mu.Unlock()
	next := a.slots.next()
	return next != nil && (next.priority > a.priority || next.priority == a.priority && next.inUse < a.inUse)
}

// release gives a slot back: another share that wants one gets it.
func (a *share) release() {
	s := a.slots
	s.mu.Lock()
	defer s.mu.Unlock()
	a.inUse--
	if next := s.next(); next != nil {
		next.take()
		go next.grant()
		return
	}
	if s.used--; s.used == s.total-1 {
		for _, b := range s.shares {
			b.wake()
		}
	}
}

// usable returns how many slots, of most, the share has, can take now, or will get soon
// whatever the others want. Records received beyond that would only wait.
func (a *share) usable(most int) int {
	s := a.slots
	s.mu.Lock()
	defer s.mu.Unlock()
	due, sharers := s.total, 1
	for _, b := range s.shares {
		switch active := b.inUse > 0 || b.wants; {
		case a == b || !active || b.priority < a.priority:
		case b.priority > a.priority:
			due = 0
		default:
			sharers++
		}
	}
	due = (due + sharers - 1) / sharers
	return min(most, max(due, a.inUse+s.total-s.used))
}

// full reports whether no slot is free.
func (a *share) full() bool {
	a.slots.mu.Lock()
	defer a.slots.mu.Unlock()
	return a.slots.used == a.slots.total
}

// next returns the share that gets the next slot, nil if none wants one.
func (s *Slots) next() (next *share) {
	for _, b := range s.shares {
		if b.wants && (next == nil || b.priority > next.priority || b.priority == next.priority && b.inUse < next.inUse) {
			next = b
		}
	}
	return next
}
