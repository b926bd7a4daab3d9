package sqs

import (
	"bytes"
	"encoding/json"
	"time"
)

// Kind is what happened to a message.
type Kind string

const (
	Sent       Kind = "sent"       // accepted by the queue
	Duplicate  Kind = "duplicate"  // a send answered with the id of an earlier one (FIFO deduplication)
	Received   Kind = "received"   // given to a receiver
	Visibility Kind = "visibility" // its visibility timeout was changed
	Returned   Kind = "returned"   // visible again without having been deleted
	Deleted    Kind = "deleted"    // deleted by a receiver
	Redriven   Kind = "redriven"   // moved to the dead-letter queue, maxReceiveCount having been reached
	Moved      Kind = "moved"      // moved to another queue by a message move task
	Expired    Kind = "expired"    // dropped at the end of the retention period
	Purged     Kind = "purged"     // every message of the queue was purged; names the queue only
)

// Event is one thing that happened to one message, for [Options.Observe]. In JSON its
// fields have the names of the toolkit's log.
type Event struct {
	Kind  Kind      `json:"type"`
	Time  time.Time `json:"timestamp"`
	Queue string    `json:"queue"` // the queue's name; of Redriven and Moved, the queue that it leaves
	// QueueURL is Queue's URL.
	QueueURL  string `json:"-"`
	MessageID string `json:"messageId,omitempty"`
	Body      string `json:"body,omitempty"`
	// ReceiptHandle is the latest one; empty before the first receive.
	ReceiptHandle string `json:"-"`
	// ReceiveCount is the message's ApproximateReceiveCount, which includes receives from
	// all queues.
	ReceiveCount int `json:"attempt,omitempty"`
	// Visibility is how long the message is hidden from now on: the visibility timeout for
	// Received and Visibility, the delay for Sent.
	Visibility time.Duration `json:"-"` // see MarshalJSON
	// MessageGroupID, DeduplicationID and SequenceNumber are as sent or assigned. Empty if
	// there is none.
	MessageGroupID  string `json:"messageGroupId,omitempty"`
	DeduplicationID string `json:"messageDeduplicationId,omitempty"`
	SequenceNumber  string `json:"sequenceNumber,omitempty"`
	// DeadLetterQueue is the name of the queue to which a Redriven message moved.
	DeadLetterQueue string `json:"deadLetterQueue,omitempty"`
	// MovedTo is the name of the queue to which a Moved message went. NewMessageID is its
	// id there, since it counts as a new message.
	MovedTo      string `json:"movedTo,omitempty"`
	NewMessageID string `json:"newMessageId,omitempty"`
}

// MarshalJSON writes Visibility in milliseconds, as "visibleInMs".
func (e Event) MarshalJSON() ([]byte, error) {
	type fields Event // without this method
	e.Time = e.Time.UTC()
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // the writer of the JSON decides that
	err := encoder.Encode(struct {
		fields
		VisibleInMs float64 `json:"visibleInMs,omitempty"`
	}{fields(e), float64(e.Visibility.Microseconds()) / 1000})
	return text.Bytes(), err
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
