package runner

import (
	"cmp"
	"slices"
	"sync"
)

// Slots limit how many deliveries several runners handle at the same time in total. A free
// slot goes to a waiting runner with the highest priority, among equals to the one with the
// fewest slots in use, among equals to the one that has waited longest. Running deliveries
// are never interrupted for that.
type Slots struct {
	total int

	mu      sync.Mutex
	used    int
	shares  []*share
	waiting []*share // those that were refused a slot since they got the last, oldest first
}

// NewSlots returns a number of slots.
func NewSlots(total int) *Slots { return &Slots{total: total} }

// share is what one runner uses of slots. Its methods may be called with the runner's lock.
type share struct {
	slots    *Slots
	priority int
	grant    func() // uses a slot that it is given, or gives it back
	wake     func() // is called when slots are free again; must not block
	inUse    int
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
	s.shares, s.waiting = without(s.shares, a), without(s.waiting, a)
}

func without(list []*share, a *share) []*share {
	return slices.DeleteFunc(list, func(b *share) bool { return a == b })
}

// acquire takes a slot, and reports whether one was free. If not, grant is called when one is.
func (a *share) acquire() bool {
	s := a.slots
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used == s.total {
		if !slices.Contains(s.waiting, a) {
			s.waiting = append(s.waiting, a)
		}
		return false
	}
	s.used++
	a.inUse++
	return true
}

// yields reports whether another share is to have the slot in which a delivery of this
// one has finished. If so, it is to be given back.
func (a *share) yields() bool {
	s := a.slots
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.next()
	return next != nil && precedence(next, a) < 0
}

// release gives a slot back: another share that wants one gets it.
func (a *share) release() {
	s := a.slots
	s.mu.Lock()
	defer s.mu.Unlock()
	a.inUse--
	if next := s.next(); next != nil {
		s.waiting = without(s.waiting, next)
		next.inUse++
		go next.grant()
		return
	}
	if s.used--; s.used == s.total-1 {
		for _, b := range s.shares {
			b.wake()
		}
	}
}

// next returns the share that gets the next slot, nil if none waits.
func (s *Slots) next() *share {
	if len(s.waiting) == 0 {
		return nil
	}
	return slices.MinFunc(s.waiting, precedence) // the first of equals
}

// precedence is negative if a gets a slot rather than b. Runners that have equally many
// keep theirs.
func precedence(a, b *share) int {
	return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(a.inUse, b.inUse))
}

// usable returns how many slots, of most, the share has, can take now, or will get soon
// whatever the others want. Records received beyond that would only wait.
func (a *share) usable(most int) int {
	s := a.slots
	s.mu.Lock()
	defer s.mu.Unlock()
	due, sharers := s.total, 1
	for _, b := range s.shares {
		switch active := b.inUse > 0 || slices.Contains(s.waiting, b); {
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
