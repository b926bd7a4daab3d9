package message

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/sqsbatch/sqsbatch/batch"
)

type event struct {
	Records []record `json:"Records"`
}

type record struct {
	MessageID         string           `json:"messageId"`
	Body              *string          `json:"body"`
	EventSource       string           `json:"eventSource"`
	SourceARN         string           `json:"eventSourceARN"`
	Attributes        systemAttributes `json:"attributes"`
	MessageAttributes map[string]struct {
		DataType    string `json:"dataType"`
		StringValue string `json:"stringValue"`
		BinaryValue []byte `json:"binaryValue"`
	} `json:"messageAttributes"`
}

// systemAttributes have the same names in an event and in a received message.
type systemAttributes struct {
	ReceiveCount    string `json:"ApproximateReceiveCount"`
	GroupID         string `json:"MessageGroupId"`
	DeduplicationID string `json:"MessageDeduplicationId"`
	TraceHeader     string `json:"AWSTraceHeader"`
}

func (a systemAttributes) message(body string) Message {
	m := Message{Body: body, GroupID: a.GroupID, DeduplicationID: a.DeduplicationID, TraceHeader: a.TraceHeader}
	m.Attempt, _ = strconv.Atoi(a.ReceiveCount) // 0 if there is no count
	return m
}

// Event reads an SQS event in the form of Lambda's invocations. sources are the ARNs of the
// queues, each once.
func Event(data []byte) (messages []Message, sources []string, err error) {
	var top map[string]json.RawMessage
	if err := json.Unmarshal(data, &top); err != nil {
		return nil, nil, fmt.Errorf("not a JSON object: %w", describe(data, err))
	}
	raw, ok := top["Records"]
	if !ok {
		return nil, nil, errors.New("not an SQS event: it has no Records")
	}
	if bytes.Equal(bytes.TrimSpace(raw), []byte("null")) {
		return nil, nil, errors.New("not an SQS event: its Records are null")
	}
	var e event
	if err := json.Unmarshal(data, &e); err != nil {
		return nil, nil, fmt.Errorf("not an SQS event: %w", describe(data, err))
	}
	for i, r := range e.Records {
		m, err := r.message()
		if err != nil {
			return nil, nil, fmt.Errorf("not an SQS event: record %d %w", i+1, err)
		}
		messages = append(messages, m)
		if r.SourceARN != "" && !slices.Contains(sources, r.SourceARN) {
			sources = append(sources, r.SourceARN)
		}
	}
	return messages, sources, nil
}

func (r record) message() (Message, error) {
	switch {
	case r.EventSource != "" && r.EventSource != "aws:sqs":
		return Message{}, fmt.Errorf("has the eventSource %q; it must be aws:sqs", r.EventSource)
	case r.MessageID == "":
		return Message{}, errors.New("has no messageId")
	case r.Body == nil:
		return Message{}, errors.New("has no body")
	}
	m := r.Attributes.message(*r.Body)
	for name, a := range r.MessageAttributes {
		m.SetAttribute(name, batch.MessageAttribute(a))
	}
	return m, nil
}

// describe returns a clearer error for a JSON text: with the line, or for a text that ends
// too early.
func describe(data []byte, err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it ends too early")
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok && syntax.Offset <= int64(len(data)) {
		line := 1 + bytes.Count(data[:syntax.Offset], []byte("\n"))
		return fmt.Errorf("line %d: %w", line, err)
	}
	return err
}
