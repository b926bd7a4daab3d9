package sqs

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// defaultHistory is the default of Config.History.
	defaultHistory = 100_000
	// maxHistoryBytes limits the bodies that the events keep in memory.
	maxHistoryBytes = 64 << 20
	// maxNameBytes limits a queue's name, also in the history: a request may have a longer one.
	maxNameBytes = 80
	// maxErrorBytes limits an error's message in the history, since errors quote requests.
	maxErrorBytes = 1000
)

// Call is one request, as [Server.Calls] returns it.
type Call struct {
	Began     time.Time `json:"began"`
	Ended     time.Time `json:"timestamp"`
	Operation string    `json:"operation"`       // "SendMessage" for example
	Queue     string    `json:"queue,omitempty"` // the queue's name, cut to 80 bytes; "" for none
	// Messages is the number of messages sent, received, or named by receipt handles. Failed is
	// the number of those that failed as entries of a batch.
	Messages int `json:"messages,omitempty"`
	Failed   int `json:"failed,omitempty"`
	// Error is the code of the error in the answer, as in ErrorCode of smithy.APIError. ""
	// for success; "no answer" if the client had left or the connection was broken off.
	Error string `json:"error,omitempty"`
	// Message is the text of the error in the answer, cut to 1,000 bytes.
	Message string `json:"reason,omitempty"`
	// Fault is the kind of the fault that affected the call, the last one of several.
	Fault FaultKind `json:"fault,omitempty"`
}

// Calls returns the requests of the named operations, or of all, in the order of their answers.
// Requests that name no operation of SQS are not included.
func (s *Server) Calls(operations ...string) []Call {
	s.history.mu.Lock()
	defer s.history.mu.Unlock()
	var list []Call
	for _, c := range s.history.calls {
		if len(operations) == 0 || slices.Contains(operations, c.Operation) {
			list = append(list, c)
		}
	}
	return list
}

// Events returns the events of the named kinds, or of all, in the order in which they took
// effect. Events that need no request, such as Returned and Expired, are included up to now,
// each with its own time.
func (s *Server) Events(kinds ...Kind) []Event {
	s.mu.Lock()
	s.catchUp()
	s.mu.Unlock()
	list := s.history.eventsOf(kinds)
	byTime := func(a, b Event) int { return a.Time.Compare(b.Time) }
	if !slices.IsSortedFunc(list, byTime) {
		slices.SortStableFunc(list, byTime)
	}
	return list
}

// history keeps the latest calls and events. Its lock may be taken while the
// server's is held.
type history struct {
	limit int // number of calls, and of events, that are kept; none if it is 0 or less

	mu     sync.Mutex
	calls  []Call
	events []keptEvent
	bytes  int // size of the events' bodies
}

// keptEvent is an event, with the number of events that share the same body in memory.
type keptEvent struct {
	Event
	sharing *int32 // nil: no body
}

// report adds a finished call to the history and notifies the observer.
func (s *Server) report(c *call, err error) {
	if s.history.limit <= 0 && s.options.ObserveCall == nil {
		return
	}
	code, message := errorOf(err)
	reported := Call{
		// The queue's name is copied, because it would keep the request in memory.
		Began: c.began, Ended: time.Now(), Operation: c.operation, Queue: strings.Clone(c.queue[:min(len(c.queue), maxNameBytes)]),
		Messages: c.messages, Failed: c.failed, Error: code, Message: message, Fault: c.struck,
	}
	s.history.addCall(reported)
	if s.options.ObserveCall != nil {
		s.options.ObserveCall(reported)
	}
}

func (h *history) addCall(c Call) {
	if h.limit <= 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls = append(h.calls, c)
	if len(h.calls) > h.limit {
		h.calls = h.calls[1:]
	}
}

// addEvent adds an event about a message with a content, nil if the event has no message.
func (h *history) addEvent(e Event, of *content) {
	if h.limit <= 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	e.Attributes = nil // they would not count as the history's
	kept := keptEvent{Event: e}
	if of != nil {
		if of.events == nil {
			of.events = new(int32)
		}
		if kept.sharing = of.events; *kept.sharing == 0 {
			h.bytes += len(e.Body)
		}
		*kept.sharing++
	}
	h.events = append(h.events, kept)
	for len(h.events) > h.limit || h.bytes > maxHistoryBytes {
		h.dropEvent()
	}
}

func (h *history) dropEvent() {
	old := h.events[0]
	h.events[0] = keptEvent{} // frees the body
	h.events = h.events[1:]
	if old.sharing == nil {
		return
	}
	if *old.sharing--; *old.sharing == 0 {
		h.bytes -= len(old.Body)
	}
}

func (h *history) eventsOf(kinds []Kind) (list []Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.events {
		if len(kinds) == 0 || slices.Contains(kinds, e.Kind) {
			list = append(list, e.Event)
		}
	}
	return list
}

func errorOf(err error) (code, message string) {
	switch {
	case err == nil:
		return "", ""
	case errors.Is(err, errGone), errors.Is(err, errRefused), errors.Is(err, errLostAnswer):
		return "no answer", ""
	}
	failure := asAPIError(err)
	message = failure.message
	if len(message) > maxErrorBytes {
		message = strings.ToValidUTF8(strings.Clone(message[:maxErrorBytes]), "")
	}
	return failure.queryCode, message
}

// observer returns a function that reports an event and the content of its message, nil if
// nothing keeps or observes events.
func (s *Server) observer() func(Event, *content) {
	if s.history.limit <= 0 && s.options.Observe == nil {
		return nil
	}
	return func(e Event, of *content) {
		s.history.addEvent(e, of)
		if s.options.Observe != nil {
			s.options.Observe(e)
		}
	}
}

// Kind is the kind of an [Event].
type Kind string

const (
	Sent       Kind = "sent"       // accepted by the queue
	Duplicate  Kind = "duplicate"  // a send answered with the id of an earlier one (FIFO deduplication)
	Received   Kind = "received"   // received by a consumer
	Visibility Kind = "visibility" // its visibility timeout was changed
	Returned   Kind = "returned"   // visible again, because it was not deleted
	Deleted    Kind = "deleted"    // deleted by a consumer
	Redriven   Kind = "redriven"   // moved to the dead-letter queue after maxReceiveCount receives
	Moved      Kind = "moved"      // moved to another queue by a message move task
	Expired    Kind = "expired"    // dropped at the end of the retention period
	Purged     Kind = "purged"     // every message of the queue was purged, or the queue deleted; names the queue only
)

// Event is one thing that happened to one message, for [Config.Observe]. In JSON its
// fields have the names of the toolkit's log.
type Event struct {
	Kind  Kind      `json:"type"`
	Time  time.Time `json:"timestamp"`
	Queue string    `json:"queue"` // the queue's name; for Redriven and Moved, the source queue's
	// QueueURL is Queue's URL.
	QueueURL  string `json:"-"`
	MessageID string `json:"messageId,omitempty"`
	Body      string `json:"body,omitempty"`
	// ReceiptHandle is the latest one; empty before the first receive.
	ReceiptHandle string `json:"-"`
	// ReceiveCount is the message's ApproximateReceiveCount, which includes receives from
	// all queues.
	ReceiveCount int `json:"attempt,omitempty"`
	// Visibility is the time until the message can be received (again): the visibility timeout
	// for Received and Visibility, the delay for Sent and Moved.
	Visibility time.Duration `json:"-"` // see MarshalJSON
	// MessageGroupID, DeduplicationID and SequenceNumber are as sent or assigned. Empty if
	// there is none.
	MessageGroupID  string `json:"messageGroupId,omitempty"`
	DeduplicationID string `json:"messageDeduplicationId,omitempty"`
	SequenceNumber  string `json:"sequenceNumber,omitempty"`
	// Attributes returns the attributes of a Sent message and its trace header, in Config.Observe
	// only. Nil for other events, and for a message with neither.
	Attributes func() (attributes map[string]MessageAttribute, traceHeader string) `json:"-"`
	// DeadLetterQueue is the name of the queue to which a Redriven message moved.
	DeadLetterQueue string `json:"deadLetterQueue,omitempty"`
	// MovedTo is the name of the queue to which a Moved message moved. NewMessageID is the id of
	// the new message in that queue.
	MovedTo      string `json:"movedTo,omitempty"`
	NewMessageID string `json:"newMessageId,omitempty"`
}

// MarshalJSON writes Visibility in milliseconds, as "visibleInMs".
func (e Event) MarshalJSON() ([]byte, error) {
	type fields Event // without this method
	e.Time = e.Time.UTC()
	return encode(struct { // without HTML escaping, about which the calling encoder decides
		fields
		VisibleInMs float64 `json:"visibleInMs,omitempty"`
	}{fields(e), float64(e.Visibility.Microseconds()) / 1000}), nil
}

func (q *queue) event(kind Kind, m *message, now time.Time) Event {
	e := Event{
		Time: now, Kind: kind, Queue: q.name, QueueURL: q.url,
		MessageID: m.content.id, Body: m.content.body, ReceiveCount: m.received,
		MessageGroupID: m.content.groupID, DeduplicationID: m.content.deduplicationID,
		SequenceNumber: sequenceNumber(m.sequence),
	}
	if m.receivedHere > 0 {
		e.ReceiptHandle = q.receiptHandle(m)
	}
	if kind == Sent && (len(m.content.attributes) > 0 || m.content.traceHeader != "") {
		e.Attributes = func() (map[string]MessageAttribute, string) { return m.content.plain(), m.content.traceHeader }
	}
	switch kind {
	case Sent, Received, Visibility:
		if m.state != visible {
			e.Visibility = m.due.Sub(now)
		}
	}
	return e
}

// observe reports an event; the caller holds the server's lock.
func (q *queue) observe(kind Kind, m *message, now time.Time) {
	if q.observer != nil {
		q.observer(q.event(kind, m, now), m.content)
	}
}
