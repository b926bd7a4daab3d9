// Package message reads what `sqsbatch local` sends: the files of --event, or one
// body a line.
//
//	file, err := message.Parse(data)
//
// A message has what a sender gives to SQS. It does not have the fields that SQS adds
// to a record (ids, receipt handles, digests), because the queue makes new ones.
package message

// A Message is one message to send.
type Message struct {
	Body            string
	Attributes      map[string]Attribute
	GroupID         string
	DeduplicationID string
	TraceHeader     string
	// Attempt is the receive count at the function; 0 and 1 mean the first.
	Attempt int
}

// An Attribute is Binary when DataType begins with "Binary", else String.
type Attribute struct {
	DataType string
	String   string
	Binary   []byte
}

// Size is what SQS counts: the bytes of the body, and of the name, type and value of each
// attribute.
func (m *Message) Size() int {
	size := len(m.Body)
	for name, a := range m.Attributes {
		size += len(name) + len(a.DataType) + len(a.String) + len(a.Binary)
	}
	return size
}
