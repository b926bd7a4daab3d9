// Package message reads what `sqsbatch local` sends: the files of --event, or one
// body a line.
//
//	file, err := message.Parse(data)
//
// A message has what a sender gives to SQS. It does not have the fields that SQS adds
// to a record (ids, receipt handles, digests), because the queue makes new ones.
package message

import "github.com/sqsbatch/sqsbatch/batch"

// A Message is one message to send.
type Message struct {
	Body            string
	Attributes      map[string]batch.MessageAttribute
	GroupID         string
	DeduplicationID string
	TraceHeader     string
	// Attempt is the receive count at the function; 0 and 1 mean the first.
	Attempt int
}

// Size is what SQS counts: the bytes of the body, and of the name, type and value of each
// attribute.
func (m *Message) Size() int {
	size := len(m.Body)
	for name, a := range m.Attributes {
		size += len(name) + len(a.DataType) + len(a.StringValue) + len(a.BinaryValue)
	}
	return size
}

// SetAttribute sets or replaces an attribute.
func (m *Message) SetAttribute(name string, a batch.MessageAttribute) {
	if m.Attributes == nil {
		m.Attributes = map[string]batch.MessageAttribute{}
	}
	m.Attributes[name] = a
}
