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

// errGone ends a call whose client has left. It has no answer.
var errGone = errors.New("sqs: the client is gone")

// errRefused and errLostAnswer end a call without an answer, before and after its effect. A
// client in the same process gets them as they are.
var (
	errRefused    error = &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	errLostAnswer error = &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
)

// breakConnection ends the request's connection without an answer.
func breakConnection(w http.ResponseWriter, err error) {
	if inProcess, ok := w.(*recorder); ok {
		inProcess.broken = err
		return
	}
	panic(http.ErrAbortHandler) // net/http ends the connection and logs nothing
}

// strikes returns the due fault of a kind that affects the call, nil if there is none, and
// counts it.
func (s *Server) strikes(c *call, due []drawn, kind FaultKind) *drawn {
	f := s.faults.strike(due, kind)
	if f != nil {
		c.struck = kind
	}
	return f
}

// strikesPart is like strikes, for kinds that affect a part of a call: an entry or a message.
func (s *Server) strikesPart(c *call, kind FaultKind) *drawn {
	return s.strikes(c, s.faults.draw(c.operation, c.queue, kind), kind)
}

// strikeBefore applies the faults that act before a call is carried out. An error replaces the
// call; c.failure replaces its answer. The faults that affect whole calls are drawn together, so
// that none changes which calls the others count.
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

// pause waits for over. It returns an error if the client leaves or the server is closed.
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
		_ = run() // the fault's error replaces this one
	}
	return f.answer()
}

// faultSet has the faults of a server. Its lock may be taken while the server's is held.
type faultSet struct {
	some atomic.Bool // list is not empty; read by every call without the lock

	mu    sync.Mutex
	seed  uint64
	alike map[string]uint64 // number of faults ever injected, by the name that key makes
	list  []*injected
}

type injected struct {
	Fault
	key          uint64 // seed of the draws
	seen, struck int    // number of candidates, and of effects
	removed      bool
}

// drawn is a fault that may affect the current candidate, with the candidate's random number.
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

// key returns the seed of a fault's draws. It depends on the fault's effect, on the calls that
// the fault is for, and on its number among faults that are alike in this. So other faults do
// not change the draws, and with a higher Probability the fault affects the same calls and more.
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
		f.removed = true // running calls may have drawn it
	}
	s.list = nil
	s.some.Store(false)
}

func (s *faultSet) left() (list []Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.list {
		left := f.Fault
		if left.Times > 0 {
			if left.Times -= f.struck; left.Times == 0 {
				continue
			}
		}
		list = append(list, left)
	}
	return list
}

// draw counts a candidate of the given kinds, and returns the faults that may affect it, in the
// order of their injection.
func (s *faultSet) draw(operation, queue string, kinds ...FaultKind) (due []drawn) {
	if !s.some.Load() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.list {
		if f.Operation != "" && f.Operation != operation || f.Queue != "" && f.Queue != queue || !slices.Contains(kinds, f.Kind) {
			continue
		}
		f.seen++
		if random := mix(f.key + uint64(f.seen)); f.seen > f.Skip && f.hit(random) {
			due = append(due, drawn{f, random})
		}
	}
	return due
}

// hit reports whether a random number is within the fault's Probability.
func (f *injected) hit(random uint64) bool {
	const bits = 53 // precision of a float64
	return f.Probability == 0 || float64(random>>(64-bits))/(1<<bits) < f.Probability
}

// strike returns the first due fault of a kind that has Times left, nil if there is none, and
// counts its effect.
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

// pick returns a random number below n.
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
