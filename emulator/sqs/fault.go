package sqs

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// FaultKind is the effect of a [Fault].
type FaultKind string

const (
	// Latency makes a call wait for Fault.Latency before it is carried out.
	Latency FaultKind = "latency"
	// Failure answers a call with the error Fault.Code. The call is not carried out, unless
	// Fault.CarriedOut is set.
	Failure FaultKind = "failure"
	// Throttled answers a call with RequestThrottled. The call is not carried out.
	Throttled FaultKind = "throttled"
	// Refused ends a call with a connection error. The call is not carried out. In-process
	// the error is "connection refused". Over a socket the connection ends.
	Refused FaultKind = "refused"
	// Hang leaves a call without an answer until its client leaves or the server is closed.
	// The call is not carried out.
	Hang FaultKind = "hang"
	// EntryFailure fails single entries of the batch calls with Fault.Code.
	EntryFailure FaultKind = "entry failure"
	// LostAnswer carries a call out, and then ends the connection instead of answering:
	// messages are sent, received or deleted, but the client gets a connection error.
	LostAnswer FaultKind = "lost answer"
	// DuplicateDelivery leaves a message that is received from a standard queue visible, so
	// that the next receive gets it too: "at-least-once delivery" in the developer guide.
	// The copy comes even if the message is deleted with the handle of the first receive.
	// That handle is then an old one: the delete succeeds without effect. The fault does
	// not affect the copy again.
	DuplicateDelivery FaultKind = "duplicate delivery"
	// OutOfOrder makes a receive from a standard queue return any visible messages, not the
	// oldest.
	OutOfOrder FaultKind = "out of order"
	// EmptyReceive makes a short poll (a receive without wait) of a standard queue return
	// nothing, even if there are messages. As the developer guide's "Amazon SQS short and
	// long polling" says, a short poll asks only some of the servers.
	EmptyReceive FaultKind = "empty receive"
)

// Fault makes calls fail, to test how clients react. See [Config.Faults] and
// [Server.Inject].
type Fault struct {
	Kind FaultKind
	// Operation is the operation that the fault affects, such as "ReceiveMessage". Defaults
	// to every operation that has an effect for Kind: the batch calls for EntryFailure,
	// ReceiveMessage for the last three kinds.
	Operation string
	// Queue is the name, not the URL, of the queue whose calls the fault affects. Defaults
	// to all calls, also calls without a queue such as ListQueues.
	Queue string
	// Probability is the share of the candidates that the fault affects. The candidates
	// are:
	//
	//   - entries of batch calls for EntryFailure,
	//   - messages that are received for DuplicateDelivery,
	//   - receives that find something for OutOfOrder,
	//   - short polls for EmptyReceive,
	//   - calls for the other kinds.
	//
	// Zero means all. Config.Seed, the fault and the number of the candidate decide which
	// ones.
	Probability float64
	// Skip is the number of candidates that pass before the first one that can be affected.
	Skip int
	// Times is the number of times that the fault has its effect. If several faults
	// would affect a call before it is carried out, Latency has its effect and then one of
	// the others, in the order Refused, Hang, Throttled, Failure. The others do not use up
	// one of their Times. Zero means no limit.
	Times int
	// Latency is the wait of calls, for the kind Latency.
	Latency time.Duration
	// Code is the error of Failure and EntryFailure. It is the error's name in the API
	// reference, such as "QueueDoesNotExist", or the code that clients see, such as
	// "AWS.SimpleQueueService.NonExistentQueue". The answer has the code and status of the
	// real error. InternalError and ServiceUnavailable are faults of the service, which
	// clients retry. All others are faults of the sender; an unknown one has status 400.
	// Defaults to "InternalError".
	Code string
	// CarriedOut carries out the call of Failure, or the entry of EntryFailure, before it
	// answers with the error. AWS does not promise that a call was not carried out if the
	// error is the service's, such as InternalError.
	CarriedOut bool
	// RetryAfter is the time until the next try for which the error of Failure or Throttled
	// asks, in whole milliseconds. It is sent as the header X-Amz-Retry-After, which the
	// AWS SDKs follow since their retry behavior 2.1. Zero sends none.
	RetryAfter time.Duration
}

// applies reports whether a fault of the kind has an effect on an operation.
func (k FaultKind) applies(operation string) bool {
	if k == EntryFailure {
		return operation == "SendMessageBatch" || operation == "DeleteMessageBatch" || operation == "ChangeMessageVisibilityBatch"
	}
	return !k.ofStandardQueues() || operation == "ReceiveMessage"
}

// ofStandardQueues reports whether a fault of the kind affects standard queues only.
func (k FaultKind) ofStandardQueues() bool {
	return k == DuplicateDelivery || k == OutOfOrder || k == EmptyReceive
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
	case f.Queue != "" && (!queueName.MatchString(strings.TrimSuffix(f.Queue, ".fifo")) || len(f.Queue) > maxNameBytes):
		return wrong("Queue", strconv.Quote(f.Queue), "the name of a queue, which is the last part of its URL")
	case strings.HasSuffix(f.Queue, ".fifo") && f.Kind.ofStandardQueues():
		return wrong("Queue", f.Queue, "a standard queue: the kind affects no others")
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
	case f.CarriedOut && f.Kind != Failure && f.Kind != EntryFailure:
		return wrong("CarriedOut", f.CarriedOut, "false: only the kinds failure and entry failure have it")
	case f.RetryAfter < 0 || f.RetryAfter%time.Millisecond != 0:
		return wrong("RetryAfter", f.RetryAfter, "whole milliseconds, 0 (no header) or more")
	case f.RetryAfter != 0 && f.Kind != Failure && f.Kind != Throttled:
		return wrong("RetryAfter", f.RetryAfter, "0: only the kinds failure and throttled answer with the header")
	}
	return nil
}

// Inject adds faults, which have effect from the next call on. If a fault is invalid, Inject
// returns an error that names the field, and adds none.
func (s *Server) Inject(faults ...Fault) error {
	for _, f := range faults {
		if err := f.validate(); err != nil {
			return err
		}
	}
	s.faults.add(faults)
	return nil
}

// Faults returns the faults that may still have an effect, in the order of their injection. Their
// Times are those that are left.
func (s *Server) Faults() []Fault { return s.faults.left() }

// ClearFaults removes all faults. Calls that hang stay as they are.
func (s *Server) ClearFaults() { s.faults.clear() }

// Pause makes receives of a queue find nothing until it is called with false, as if there were no
// consumer. Messages in flight are not affected. AWS has no such call. It returns an error if there
// is no such queue.
func (s *Server) Pause(queue string, paused bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queues[queue]
	if q == nil {
		return fmt.Errorf("sqs: there is no queue %q to pause", queue)
	}
	q.paused = paused
	s.catchUp()
	return nil
}

// answer returns the error with which Failure and EntryFailure answer.
func (f *Fault) answer() *apiError {
	return errorNamed(cmp.Or(f.Code, "InternalError"), "A fault that was injected into the SQS emulator.")
}
