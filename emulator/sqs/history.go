package sqs

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"time"
)

// defaultHistory is how many calls and how many events are kept.
const defaultHistory = 100_000

// Call is one request, as [Server.Calls] tells of it.
type Call struct {
	Began, Ended time.Time
	Operation    string // "SendMessage" for example
	Queue        string // name of the queue that it was about; "" for none
	// Messages is how many messages were sent or received, or named by receipt
	// handles. Failed is how many of them failed as entries of a batch.
	Messages, Failed int
	// Error is the code of the error that was answered, as smithy.APIError's
	// ErrorCode has it. "" for success; "no answer" when the client had left or
	// the connection was broken off.
	Error string
	// Fault is the kind of the fault that struck; the last one, of several.
	Fault FaultKind
}

// Calls returns what was asked of the server, in the order in which it was
// answered: the named operations, or all. Requests that are no operation of
// SQS are not in it.
func (s *Server) Calls(operations ...string) []Call {
	s.history.mu.Lock()
	defer s.history.mu.Unlock()
	return s.history.calls.all(func(c Call) bool { return slices.Contains(operations, c.Operation) || len(operations) == 0 })
}

// Events returns what happened to messages, in the order in which it took
// effect: the given kinds, or all. What time has brought until now is in it.
func (s *Server) Events(kinds ...Kind) []Event {
	s.mu.Lock()
	if !s.closed {
		now := time.Now()
		s.move(now)
		for _, q := range s.queues {
			q.advance(now)
			s.settle(q, now)
		}
	}
	s.mu.Unlock()
	s.history.mu.Lock()
	defer s.history.mu.Unlock()
	return s.history.events.all(func(e Event) bool { return slices.Contains(kinds, e.Kind) || len(kinds) == 0 })
}

// history keeps the latest calls and events. Its lock may be taken while the
// server's is held.
type history struct {
	mu     sync.Mutex
	calls  ring[Call]
	events ring[Event]
}

func (h *history) addCall(c *call, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.calls.limit <= 0 {
		return
	}
	h.calls.add(Call{
		// The queue's name is a part of the request, which must not be kept.
		Began: c.began, Ended: time.Now(), Operation: c.operation, Queue: strings.Clone(c.queue),
		Messages: c.messages, Failed: c.failed, Error: errorCode(err), Fault: c.struck,
	})
}

func (h *history) addEvent(e Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events.add(e)
}

func errorCode(err error) string {
	if err == nil {
		return ""
	}
	var failure *apiError
	switch {
	case errors.As(err, &failure):
		return failure.queryCode
	case errors.Is(err, errGone), errors.Is(err, errRefused), errors.Is(err, errLostAnswer):
		return "no answer"
	}
	return "InternalError"
}

// observer returns what is to be called for each event; nil for nothing.
func (s *Server) observer() func(Event) {
	keep, tell := s.history.events.limit > 0, s.options.Observe
	switch {
	case keep && tell != nil:
		return func(e Event) {
			s.history.addEvent(e)
			tell(e)
		}
	case keep:
		return s.history.addEvent
	}
	return tell
}
