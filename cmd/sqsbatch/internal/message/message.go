// Package message reads messages for `sqsbatch local`: the files of --event, or one body a line.
//
//	file, err := message.Parse(data)
//
// A message has a sender's fields. It does not have the fields that SQS adds to a record (ids,
// receipt handles, digests), because the queue makes new ones.
package message

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sqsbatch/sqsbatch/batch"
)

// A Message is one message to send.
type Message struct {
	Body            string
	Attributes      map[string]batch.MessageAttribute
	GroupID         string
	DeduplicationID string
	TraceHeader     string
	// Attempt is the receive count at the function; 0 and 1 are the first.
	Attempt int
}

// Size returns the size by SQS's rules: the bytes of the body, and of the name, type and
// value of each attribute.
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

// maxBody is the largest size of a message ("Amazon SQS message quotas").
const maxBody = 1 << 20

// Lines calls send with each line of r as a body, except blank lines. A line that is too
// long for SQS is cut, but stays long enough for SQS to refuse it. Lines returns the error
// of r or of send.
func Lines(r io.Reader, send func(Message) error) error {
	in := bufio.NewReaderSize(r, 64<<10)
	for n := 1; ; n++ {
		line, err := readLine(in)
		body := strings.TrimSuffix(line, "\r")
		if strings.TrimSpace(body) != "" {
			if err := send(Message{Body: body}); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("standard input, line %d: %w", n, err)
		}
	}
}

// readLine reads a line, and returns at most two bytes more than the longest body.
func readLine(in *bufio.Reader) (string, error) {
	var line strings.Builder
	for {
		part, err := in.ReadSlice('\n')
		if room := maxBody + 2 - line.Len(); len(part) <= room {
			line.Write(part)
		} else {
			line.Write(part[:max(room, 0)])
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return strings.TrimSuffix(line.String(), "\n"), err
		}
	}
}
