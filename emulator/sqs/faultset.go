package sqs

import (
	"hash/fnv"
	"io"
	"slices"
	"sync"
	"sync/atomic"
)

// faultSet are the faults of a server. Its lock may be taken while the
// server's is held.
type faultSet struct {
	some atomic.Bool // there are any: what every call asks

	mu    sync.Mutex
	seed  uint64
	alike map[string]uint64 // how many were ever injected that are named alike
	list  []*injected
}

type injected struct {
	Fault
	key          uint64 // what its draws follow from
	seen, struck int
	removed      bool
}

// drawn is a fault whose turn has come to strike.
type drawn struct {
	*injected
	random uint64
}

func (s *faultSet) add(faults []Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range faults {
		s.list = append(s.list, &injected{Fault: f, key: s.key(f)})
	}
	s.some.Store(len(s.list) > 0)
}

// key makes the draws of a fault follow from what it does to which calls, and
// from its number among those that are alike in this: other faults change
// nothing, and with a higher Probability it strikes those calls, and others.
func (s *faultSet) key(f Fault) uint64 {
	name := string(f.Kind) + "\n" + f.Operation + "\n" + f.Queue + "\n" + f.Code
	if f.CarriedOut {
		name += "\ncarried out"
	}
	hash := fnv.New64a()
	_, _ = io.WriteString(hash, name)
	if s.alike == nil {
		s.alike = map[string]uint64{}
	}
	s.alike[name]++
	return mix(s.seed ^ mix(hash.Sum64()^mix(s.alike[name])))
}

func (s *faultSet) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.list {
		f.removed = true // calls under way may know of it
	}
	s.list = nil
	s.some.Store(false)
}

// draw counts something that faults of the given kinds may strike, and returns
// those whose turn it is, in the order of their injection.
func (s *faultSet) draw(operation, queue string, kinds ...FaultKind) (due []drawn) {
	if !s.some.Load() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.list {
		if !f.concerns(operation, queue, kinds) {
			continue
		}
		f.seen++
		if random := mix(f.key + uint64(f.seen)); f.seen > f.Skip && f.hit(random) {
			due = append(due, drawn{f, random})
		}
	}
	return due
}

func (f *injected) concerns(operation, queue string, kinds []FaultKind) bool {
	if f.Operation != "" && f.Operation != operation || f.Queue != "" && f.Queue != queue {
		return false
	}
	return slices.Contains(kinds, f.Kind)
}

// hit decides by a random number.
func (f *injected) hit(random uint64) bool {
	const bits = 53 // a float64 holds so many exactly
	return f.Probability == 0 || float64(random>>(64-bits))/(1<<bits) < f.Probability
}

// strike returns the first of the due faults that is of a kind and has times left; nil if
// there is none.
func (s *faultSet) strike(due []drawn, kind FaultKind) *drawn {
	if len(due) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range due {
		if f := &due[i]; f.Kind == kind && !f.removed && (f.Times == 0 || f.struck < f.Times) {
			f.struck++
			return f
		}
	}
	return nil
}

// pick returns one of n at random.
func (f *drawn) pick(n int) int {
	f.random = mix(f.random)
	return int(f.random % uint64(n))
}

// mix is the finalizer of SplitMix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
