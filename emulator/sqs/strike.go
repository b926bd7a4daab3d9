package sqs

import (
	"errors"
	"hash/fnv"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// errGone ends a call whose client has left, so that no answer can be sent.
var errGone = errors.New("sqs: the client is gone")

// errRefused and errLostAnswer end a call without an answer, before and after
// its effect. They are what a client in the same process gets.
var (
	errRefused    error = &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	errLostAnswer error = &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
)

func breakOff(w http.ResponseWriter, err error) {
	if inProcess, ok := w.(*recorder); ok {
		inProcess.broken = err
		return
	}
	panic(http.ErrAbortHandler) // net/http's way to end a connection; it is not reported
}

// strikes returns the fault of a kind, among those that are due, that affects the call; nil
// if there is none.
func (s *Server) strikes(c *call, due []drawn, kind FaultKind) *drawn {
	f := s.faults.strike(due, kind)
	if f != nil {
		c.struck = kind
	}
	return f
}

// strikesPart is strikes for the kinds that strike something within a call.
func (s *Server) strikesPart(c *call, kind FaultKind) *drawn {
	return s.strikes(c, s.faults.draw(c.operation, c.queue, kind), kind)
}

// strikeBefore applies the faults that keep a call from having its effect, and sets the
// failure of a call that is to have it. All that strike whole calls are drawn before the
// first acts, so that none changes which calls the others count.
func (s *Server) strikeBefore(c *call) error {
	c.due = s.faults.draw(c.operation, c.queue, Latency, Refused, Hang, Throttled, Failure, LostAnswer)
	if f := s.strikes(c, c.due, Latency); f != nil {
		timer := time.NewTimer(f.Latency)
		defer timer.Stop()
		if err := s.pause(c, timer.C); err != nil {
			return err
		}
	}
	if s.strikes(c, c.due, Refused) != nil {
		return errRefused
	}
	if s.strikes(c, c.due, Hang) != nil {
		return s.pause(c, nil)
	}
	if f := s.strikes(c, c.due, Throttled); f != nil {
		err := modelled("RequestThrottled", "The request was denied due to request throttling: a fault that was injected into the SQS emulator.")
		err.retryAfter = f.RetryAfter
		return err
	}
	if f := s.strikes(c, c.due, Failure); f != nil {
		err := f.answer()
		err.retryAfter = f.RetryAfter
		if !f.CarriedOut {
			return err
		}
		c.failure = err
	}
	return nil
}

// pause waits for over; a client that leaves and the server's end are errors.
func (s *Server) pause(c *call, over <-chan time.Time) error {
	select {
	case <-over:
		return nil
	case <-c.ctx.Done():
		return errGone
	case <-s.ended:
		return errClosed()
	}
}

// entry carries out an entry of a batch call, unless a fault affects it.
func (s *Server) entry(c *call, run func() *apiError) *apiError {
	f := s.strikesPart(c, EntryFailure)
	if f == nil {
		return run()
	}
	if f.CarriedOut {
		_ = run() // the fault's error takes its place
	}
	return f.answer()
}

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
