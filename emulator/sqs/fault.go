package sqs

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
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
	// the developer guide. The copy comes also after a delete by the handle of
	// the first receive, which is as good as an old one: it succeeds without
	// effect. The copy itself is not struck.
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
	// Queue is the name, not the URL, of the queue that the calls are about.
	// Defaults to every queue, and calls about none.
	Queue string
	// Probability is the share of what the fault can strike that it strikes:
	//
	//   - entries of batch calls for EntryFailure,
	//   - messages that are received for DuplicateDelivery,
	//   - receives that find something for OutOfOrder,
	//   - short polls for EmptyReceive,
	//   - calls for the other kinds.
	//
	// Zero means every one. Which ones follows from Options.Seed, from the fault
	// and from their number.
	Probability float64
	// Skip is how many of them pass before the first that can be struck.
	Skip int
	// Times is how many of them are struck before the fault is over. Where
	// several faults would strike a call before its effect, Latency acts and then
	// one of the others, in the order Refused, Hang, Throttled, Failure: for the
	// rest it is not one of their Times. Zero sets no limit.
	Times int
	// Latency is how long calls wait; for the kind of that name.
	Latency time.Duration
	// Code is the error of Failure and EntryFailure, by its name in the API
	// reference, "QueueDoesNotExist" for example, or by the code that clients
	// see, "AWS.SimpleQueueService.NonExistentQueue": the answer is the server's
	// own, with its code and status. InternalError and ServiceUnavailable are the
	// service's faults, which clients try again; any other is the sender's, with
	// status 400 if it is unknown. Defaults to "InternalError".
	Code string
	// RetryAfter is when the error of Failure or Throttled asks for the next try,
	// in whole milliseconds: the header X-Amz-Retry-After, which AWS's SDKs heed
	// since their retry behaviour 2.1. Zero asks for none.
	RetryAfter time.Duration
}

// applies tells which operations a fault of the kind can strike.
func (k FaultKind) applies(operation string) bool {
	if k == EntryFailure {
		return operation == "SendMessageBatch" || operation == "DeleteMessageBatch" || operation == "ChangeMessageVisibilityBatch"
	}
	return !k.ofStandardQueues() || operation == "ReceiveMessage"
}

// ofStandardQueues tells whether a fault of the kind takes back what only FIFO
// queues promise.
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
		return wrong("Queue", f.Queue, "a standard queue: it can strike no other")
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
	case f.RetryAfter < 0 || f.RetryAfter%time.Millisecond != 0:
		return wrong("RetryAfter", f.RetryAfter, "whole milliseconds, 0 (no header) or more")
	case f.RetryAfter != 0 && f.Kind != Failure && f.Kind != Throttled:
		return wrong("RetryAfter", f.RetryAfter, "0: only the kinds failure and throttled answer with the header")
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

// answer is the error that Failure and EntryFailure answer with.
func (f *Fault) answer() *apiError {
	code := f.Code
	if code == "" {
		code = "InternalError"
	}
	return errorNamed(code, "A fault that was injected into the SQS emulator.")
}
