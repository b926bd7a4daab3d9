package message

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

type event struct {
	Records []record `json:"Records"`
}

type record struct {
	MessageID   string  `json:"messageId"`
	Body        *string `json:"body"`
	EventSource string  `json:"eventSource"`
	SourceARN   string  `json:"eventSourceARN"`
	Attributes  struct {
		ReceiveCount    string `json:"ApproximateReceiveCount"`
		GroupID         string `json:"MessageGroupId"`
		DeduplicationID string `json:"MessageDeduplicationId"`
		TraceHeader     string `json:"AWSTraceHeader"`
	} `json:"attributes"`
	MessageAttributes map[string]struct {
		DataType    string  `json:"dataType"`
		StringValue *string `json:"stringValue"`
		BinaryValue []byte  `json:"binaryValue"`
	} `json:"messageAttributes"`
}

// Event reads an SQS event as Lambda gives it to a function. FIFO says whether
// its records come from a FIFO queue. The error says in what way data is not
// such an event.
func Event(data []byte) (messages []Message, fifo bool, err error) {
	var top map[string]json.RawMessage
	if err := json.Unmarshal(data, &top); err != nil {
		return nil, false, fmt.Errorf("not a JSON object: %w", describe(data, err))
	}
	raw, ok := top["Records"]
	if !ok {
		return nil, false, errors.New("not an SQS event: it has no Records")
	}
	if bytes.Equal(bytes.TrimSpace(raw), []byte("null")) {
		return nil, false, errors.New("not an SQS event: its Records are null")
	}
	var e event
	if err := json.Unmarshal(data, &e); err != nil {
		return nil, false, fmt.Errorf("not an SQS event: %w", describe(data, err))
	}
	for i, r := range e.Records {
		m, err := r.message()
		if err != nil {
			return nil, false, fmt.Errorf("not an SQS event: record %d %w", i+1, err)
		}
		messages = append(messages, m)
		fifo = fifo || strings.HasSuffix(r.SourceARN, ".fifo")
	}
	return messages, fifo, nil
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
	m := Message{
		Body:            *r.Body,
		GroupID:         r.Attributes.GroupID,
		DeduplicationID: r.Attributes.DeduplicationID,
		TraceHeader:     r.Attributes.TraceHeader,
	}
	m.Attempt, _ = strconv.Atoi(r.Attributes.ReceiveCount) // what is no number is a first attempt
	for name, a := range r.MessageAttributes {
		if m.Attributes == nil {
			m.Attributes = map[string]Attribute{}
		}
		out := Attribute{DataType: a.DataType, Binary: a.BinaryValue}
		if a.StringValue != nil {
			out.String = *a.StringValue
		}
		m.Attributes[name] = out
	}
	return m, nil
}

// describe adds the line to a syntax error.
func describe(data []byte, err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) && syntax.Offset <= int64(len(data)) {
		line := 1 + bytes.Count(data[:syntax.Offset], []byte("\n"))
		return fmt.Errorf("line %d: %w", line, err)
	}
	return err
}
