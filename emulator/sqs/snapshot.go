package sqs

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// MessageState is whether a message can be received.
type MessageState string

const (
	MessageVisible  MessageState = "visible"   // it can be received, unless its FIFO group is blocked
	MessageInFlight MessageState = "in flight" // received, and neither deleted nor visible again
	MessageDelayed  MessageState = "delayed"   // sent with a delay that is not over
)

// QueueSnapshot is the state of a queue at one moment.
type QueueSnapshot struct {
	Name, URL, ARN string
	// Attributes are the attributes that were set, by their names in CreateQueue.
	Attributes map[string]string
	// Visible, InFlight and Delayed are the numbers of messages in each state.
	Visible, InFlight, Delayed int
	// Paused is what [Server.Pause] set.
	Paused bool
	// Messages are all messages, in the order in which they were sent.
	Messages []MessageSnapshot
}

// MessageSnapshot is the state of a message at one moment.
type MessageSnapshot struct {
	MessageID string
	Body      string
	State     MessageState
	// VisibleAt is the time at which a message in flight or delayed becomes visible. Zero for
	// others.
	VisibleAt time.Time
	// ReceiveCount is the message's ApproximateReceiveCount, which includes receives from
	// all queues.
	ReceiveCount int
	SentAt       time.Time
	// MessageGroupID, DeduplicationID, SequenceNumber and TraceHeader are as sent or
	// assigned. Empty if there is none.
	MessageGroupID, DeduplicationID, SequenceNumber, TraceHeader string
	// SourceARN is the ARN of the queue from which SQS dead-lettered the message. Empty for
	// others.
	SourceARN  string
	Attributes map[string]MessageAttribute
}

// MessageAttribute is a message attribute. Its value is in Binary if DataType begins with
// "Binary", else in String.
type MessageAttribute struct {
	DataType string
	String   string
	Binary   []byte
}

// Snapshot returns the current state of the queues, sorted by name, with their messages. It
// does not receive messages: visibility and receive counts do not change.
func (s *Server) Snapshot() []QueueSnapshot { return s.queueSnapshots(true) }

// Queues returns what Snapshot does, without the messages. It takes little time, however many
// there are.
func (s *Server) Queues() []QueueSnapshot { return s.queueSnapshots(false) }

func (s *Server) queueSnapshots(messages bool) []QueueSnapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.catchUp()
	list := make([]QueueSnapshot, 0, len(s.queues))
	for _, name := range slices.Sorted(maps.Keys(s.queues)) {
		q := s.queues[name]
		one := q.snapshot()
		if messages {
			one.Messages = q.messageSnapshots()
		}
		list = append(list, one)
	}
	return list
}

// catchUp brings all queues up to now; the caller holds the server's lock.
func (s *Server) catchUp() {
	if s.closed {
		return
	}
	now := time.Now()
	s.advanceMoves(now)
	for _, q := range s.queues {
		q.advance(now)
		s.serveTouched(q, now)
	}
}

func (q *queue) snapshot() QueueSnapshot {
	return QueueSnapshot{
		Name: q.name, URL: q.url, ARN: q.arn, Attributes: maps.Clone(q.attributes),
		Visible: len(q.messages) - q.hidden.len(), InFlight: q.inFlightNow, Delayed: q.delayedCount,
		Paused: q.paused,
	}
}

func (q *queue) messageSnapshots() (list []MessageSnapshot) {
	messages := slices.SortedFunc(maps.Values(q.messages), func(a, b *message) int {
		return cmp.Or(a.sent.Compare(b.sent), cmp.Compare(a.uid, b.uid))
	})
	for _, m := range messages {
		list = append(list, m.snapshot())
	}
	return list
}

var states = [...]MessageState{visible: MessageVisible, delayed: MessageDelayed, inFlight: MessageInFlight}

func (m *message) snapshot() MessageSnapshot {
	c := m.content
	one := MessageSnapshot{
		MessageID: c.id, Body: c.body, State: states[m.state], ReceiveCount: m.received, SentAt: m.sent,
		MessageGroupID: c.groupID, DeduplicationID: c.deduplicationID, SequenceNumber: sequenceNumber(m.sequence),
		TraceHeader: c.traceHeader, SourceARN: m.source,
	}
	if m.state != visible {
		one.VisibleAt = m.due
	}
	one.Attributes = c.plain()
	return one
}

// plain returns the attributes without the SDK's types, nil if there are none.
func (c *content) plain() map[string]MessageAttribute {
	if len(c.attributes) == 0 {
		return nil
	}
	plain := make(map[string]MessageAttribute, len(c.attributes))
	for name, v := range c.attributes {
		plain[name] = MessageAttribute{DataType: v.DataType, String: aws.ToString(v.StringValue), Binary: slices.Clone(v.BinaryValue)}
	}
	return plain
}
