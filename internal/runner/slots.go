package runner

import (
	"slices"
	"sync"
	"time"
)

// Slots limit how many deliveries several runners handle at the same time in total. A free
// slot goes to a runner with the highest priority, and of several to the one that has used
// slots least. Running deliveries are never interrupted for that.
type Slots struct {
	total int

	mu     sync.Mutex
	used   int
	shares []*share // of those that may want slots
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
	// passed is the total time for which it has used slots, up to since. It decides who is
	// next.
	passed time.Duration
	since  time.Time
}

// startCost is what a start counts for, so that handlers which take no time take turns, too.
const startCost = 10 * time.Microsecond

// join returns a share of the slots. grant is called by a goroutine of its own.
func (s *Slots) join(priority int, grant, wake func()) *share {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := &share{slots: s, priority: priority, grant: grant, wake: wake, since: time.Now()}
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
	a.catchUp()
	if s.used == s.total {
		a.wants = true
		return false
	}
	s.used++
	a.count(1)
	return true
}

// yields reports whether another share is to have the slot in which a delivery of this
// one has finished. If so, it is to be given back.
func (a *share) yields() bool {
	s := a.slots
	s.mu.Lock()
	defer s.mu.Unlock()
	if next := s.next(); next != nil && next.before(a) {
		return true
	}
	a.count(0)
	a.passed += startCost
	return false
}

// release gives a slot back: another share that wants one gets it.
func (a *share) release() {
	s := a.slots
	s.mu.Lock()
	defer s.mu.Unlock()
	a.count(-1)
	if next := s.next(); next != nil {
		next.wants = false
		next.count(1)
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

// next is the share that gets the next slot, nil if none wants one.
func (s *Slots) next() (next *share) {
	for _, b := range s.shares {
		if b.wants {
			if b.count(0); next == nil || b.before(next) {
				next = b
			}
		}
	}
	return next
}

// before reports whether a gets a slot rather than b. Both have been counted.
func (a *share) before(b *share) bool {
	if a.priority != b.priority {
		return a.priority > b.priority
	}
	b.count(0)
	return a.passed < b.passed
}

// catchUp starts a share that has used nothing for a while at the level of the others. It
// does not get the slots that it has not used.
func (a *share) catchUp() {
	if a.inUse > 0 || a.wants {
		return
	}
	first := true
	var least time.Duration
	for _, b := range a.slots.shares {
		if b.inUse > 0 || b.wants {
			b.count(0)
			if first || b.passed < least {
				first, least = false, b.passed
			}
		}
	}
	if !first {
		a.passed = max(a.passed, least)
	}
}

// count adds up what the share has used until now, and changes how many slots it has.
func (a *share) count(change int) {
	now := time.Now()
	a.passed += now.Sub(a.since) * time.Duration(a.inUse)
	a.since = now
	a.inUse += change
	if change > 0 {
		a.passed += startCost
	}
}
