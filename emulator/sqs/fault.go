package sqs

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// FaultKind says what a [Fault] does.
type FaultKind string

const (
	// Latency makes a call wait for Fault.Latency before it is carried out.
	Latency FaultKind = "latency"
	// Failure answers a call with the error Fault.Code; it has no effect.
	Failure FaultKind = "failure"
	// Throttled answers a call with RequestThrottled; it has no effect.
	Throttled FaultKind = "throttled"
	// Refused ends a call with a connection error; it has no effect. In-process
	// it is "connection refused", over a socket a connection that ends.
	Refused FaultKind = "refused"
	// Hang leaves a call without an answer until its client leaves or the
	// server is closed; it has no effect.
	Hang FaultKind = "hang"
	// EntryFailure fails single entries of the batch calls with Fault.Code.
	EntryFailure FaultKind = "entry failure"
	// LostAnswer carries a call out, and then ends its connection instead of
	// answering: messages are sent, received or deleted and the client does not
	// know.
	LostAnswer FaultKind = "lost answer"
	// DuplicateDelivery leaves a message that is received from a standard queue
	// visible, so that the next receive gets it too: "at-least-once delivery" in
	// the developer guide. The handle of the first receive is then an old one.
	DuplicateDelivery FaultKind = "duplicate delivery"
	// OutOfOrder makes a receive from a standard queue take any visible
	// messages, not the oldest.
	OutOfOrder FaultKind = "out of order"
	// EmptyReceive makes a short poll (a receive without wait) of a standard
	// queue return nothing, whatever is there: the developer guide's "Amazon SQS
	// short and long polling" says that it asks only some of the servers.
	EmptyReceive FaultKind = "empty receive"
)

// Fault makes calls go wrong, for tests of what clients do then. See
// [Options.Faults] and [Server.Inject].
type Fault struct {
	Kind FaultKind
	// Operation is the calls that the fault is for, "ReceiveMessage" for
	// example. Defaults to every one that Kind can apply to: the batch calls for
	// EntryFailure, ReceiveMessage for the last three kinds.
	Operation string
	// Queue is the name of the queue that the calls are about. Defaults to
	// every queue, and calls about none.
	Queue string
	// Probability is the share of the matching calls that the fault strikes: of
	// the entries for EntryFailure, of the messages for DuplicateDelivery. Zero
	// means every one. Which ones follows from Options.Seed and their number.
	Probability float64
	// Skip is how many matching calls pass before the first that can be struck.
	Skip int
	// Times is how many calls are struck before the fault is over. Zero sets no limit.
	Times int
	// Latency is how long calls wait; for the kind of that name.
	Latency time.Duration
	// Code is the error of Failure and EntryFailure, "AccessDenied" for example.
	// InternalError and ServiceUnavailable are the service's faults, which
	// clients try again; any other is the sender's. Defaults to "InternalError".
	Code string
}

// applies tells which operations a fault of the kind can strike.
func (k FaultKind) applies(operation string) bool {
	switch k {
	case EntryFailure:
		return operation == "SendMessageBatch" || operation == "DeleteMessageBatch" || operation == "ChangeMessageVisibilityBatch"
	case DuplicateDelivery, OutOfOrder, EmptyReceive:
		return operation == "ReceiveMessage"
	}
	return true
}

func (f Fault) validate() error {
	wrong := func(field string, value any, want string) error {
		return fmt.Errorf("sqs: Fault.%s of kind %q is %v: want %s", field, string(f.Kind), value, want)
	}
	_, known := operations[f.Operation]
	switch {
	case !slices.Contains([]FaultKind{Latency, Failure, Throttled, Refused, Hang, EntryFailure, LostAnswer,
		DuplicateDelivery, OutOfOrder, EmptyReceive}, f.Kind):
		return fmt.Errorf("sqs: Fault.Kind is %q: want one of the constants of type FaultKind", string(f.Kind))
	case f.Operation != "" && !known:
		return wrong("Operation", f.Operation, "an operation of SQS, ReceiveMessage for example")
	case f.Operation != "" && !f.Kind.applies(f.Operation):
		return wrong("Operation", f.Operation, "one that the kind can apply to")
	case math.IsNaN(f.Probability) || f.Probability < 0 || f.Probability > 1:
		return wrong("Probability", f.Probability, "0 (every call) to 1")
	case f.Skip < 0:
		return wrong("Skip", f.Skip, "0 or more")
	case f.Times < 0:
		return wrong("Times", f.Times, "0 (no limit) or more")
	case f.Kind == Latency && f.Latency <= 0:
		return wrong("Latency", f.Latency, "more than 0")
	case f.Kind != Latency && f.Latency != 0:
		return wrong("Latency", f.Latency, "0: only the kind latency waits")
	case f.Code != "" && f.Kind != Failure && f.Kind != EntryFailure:
		return wrong("Code", f.Code, "none: only the kinds failure and entry failure have one")
	}
	return nil
}

// Inject adds faults to those that are there, from the next call on. It
// returns an error, and adds none, when a field of one is invalid.
func (s *Server) Inject(faults ...Fault) error {
	for _, f := range faults {
		if err := f.validate(); err != nil {
			return err
		}
	}
	s.faults.add(faults)
	return nil
}

// ClearFaults removes all faults. Calls that hang go on hanging.
func (s *Server) ClearFaults() { s.faults.clear() }

// faultSet are the faults of a server. Its lock may be taken while the
// server's is held.
type faultSet struct {
	some atomic.Bool // there are any: what every call asks

	mu    sync.Mutex
	seed  uint64
	added uint64
	picks uint64
	list  []*injected
}

type injected struct {
	Fault
	number       uint64 // of all that were ever injected
	seen, struck int
}

func (s *faultSet) add(faults []Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range faults {
		s.added++
		s.list = append(s.list, &injected{Fault: f, number: s.added})
	}
	s.some.Store(len(s.list) > 0)
}

func (s *faultSet) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = nil
	s.some.Store(false)
}

// strike returns the first fault of a kind that strikes now, nil for none.
func (s *faultSet) strike(kind FaultKind, operation, queue string) *Fault {
	if !s.some.Load() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var first *Fault
	for _, f := range s.list {
		if f.Kind != kind || f.Operation != "" && f.Operation != operation || f.Queue != "" && f.Queue != queue {
			continue
		}
		f.seen++
		if first == nil && f.seen > f.Skip && (f.Times == 0 || f.struck < f.Times) && s.draws(f) {
			f.struck++
			first = &f.Fault
		}
	}
	return first
}

// draws decides by the seed and the call's number alone, so that what other
// faults and other calls do changes nothing.
func (s *faultSet) draws(f *injected) bool {
	if f.Probability == 0 {
		return true
	}
	const bits = 53 // a float64 holds so many exactly
	draw := mix(mix(s.seed^mix(f.number)) + uint64(f.seen))
	return float64(draw>>(64-bits))/(1<<bits) < f.Probability
}

// pick returns one of n at random.
func (s *faultSet) pick(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.picks++
	return int(mix(s.seed^mix(s.picks)) % uint64(n))
}

// mix is the finalizer of SplitMix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// answer is the error that Failure and EntryFailure answer with.
func (f *Fault) answer() *apiError {
	const words = "A fault that was injected into the SQS emulator."
	switch f.Code {
	case "", "InternalError":
		return &apiError{shape: coralShape + "InternalFailure", queryCode: "InternalError", message: words, status: http.StatusInternalServerError}
	case "ServiceUnavailable":
		return &apiError{shape: coralShape + "ServiceUnavailableException", queryCode: f.Code, message: words, status: http.StatusServiceUnavailable}
	case "AccessDenied":
		return &apiError{shape: coralShape + "AccessDeniedException", queryCode: f.Code, message: words, status: http.StatusForbidden}
	}
	return modelled(f.Code, words)
}
