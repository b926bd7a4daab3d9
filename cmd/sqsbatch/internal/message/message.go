// Package message reads what `sqsbatch local` sends: the sample orders, the
// records of an SQS event, or one body a line.
//
//	messages, err := message.Event(data)
//
// A message is what a sender gives to SQS. What SQS itself adds to a record
// (ids, receipt handles, digests) is not kept: the queue makes its own.
package message

import (
	"encoding/json"
	"fmt"
)

// A Message is one message to send.
type Message struct {
	Body            string
	Attributes      map[string]Attribute
	GroupID         string
	DeduplicationID string
	TraceHeader     string
	// Attempt is the receive count that the message arrives with at the
	// function; 0 and 1 mean the first.
	Attempt int
}

// An Attribute is a message attribute: Binary when DataType begins with
// "Binary", else String.
type Attribute struct {
	DataType string
	String   string
	Binary   []byte
}

// Samples are the orders that `sqsbatch local` sends by default: for
// examples/orders, one of each fate that shows within seconds.
func Samples() []Message {
	orders := []struct {
		sku      string
		quantity int
	}{
		{"ok", 1},
		{"slow:700ms", 2},
		{"unknown", 1},
		{"flaky:2", 1},
		{"ok", 5},
		{"busy:1s", 1},
		{"ok", 0},
		{"ok", 2},
		{"slow:300ms", 3},
		{"ok", 1},
	}
	messages := make([]Message, len(orders))
	for i, o := range orders {
		body, err := json.Marshal(struct {
			ID       string `json:"id"`
			SKU      string `json:"sku"`
			Quantity int    `json:"quantity"`
		}{fmt.Sprintf("o-%d", i+1), o.sku, o.quantity})
		if err != nil {
			panic(err) // strings and numbers always encode
		}
		messages[i] = Message{Body: string(body)}
	}
	return messages
}
