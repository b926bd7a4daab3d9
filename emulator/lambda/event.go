package lambda

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/internal/plainjson"
)

// message is a received message with its part of the event, encoded once: the
// size decides which batch it goes into.
type message struct {
	Record
	event   []byte
	expires time.Time // when the queue shows it again
	receive int       // which of the mapping's receives brought it
}

// newMessage encodes m as Lambda does.
func newMessage(m types.Message, arn, region string) (message, error) {
	r := sqsRecord{
		messageID:              aws.ToString(m.MessageId),
		receiptHandle:          aws.ToString(m.ReceiptHandle),
		body:                   aws.ToString(m.Body),
		attributes:             m.Attributes,
		md5OfMessageAttributes: aws.ToString(m.MD5OfMessageAttributes),
		md5OfBody:              aws.ToString(m.MD5OfBody),
		arn:                    arn,
		region:                 region,
	}
	if len(m.MessageAttributes) > 0 {
		r.messageAttributes = make(map[string]sqsAttribute, len(m.MessageAttributes))
	}
	for name, a := range m.MessageAttributes {
		r.messageAttributes[name] = sqsAttribute{
			StringValue:      a.StringValue,
			BinaryValue:      a.BinaryValue,
			StringListValues: []string{},
			BinaryListValues: [][]byte{},
			DataType:         aws.ToString(a.DataType),
		}
	}
	event, err := r.encode()
	if err != nil {
		return message{}, err
	}
	attempt, _ := strconv.Atoi(m.Attributes[string(types.MessageSystemAttributeNameApproximateReceiveCount)])
	return message{
		Record: Record{
			MessageID:     r.messageID,
			ReceiptHandle: r.receiptHandle,
			Body:          r.body,
			GroupID:       m.Attributes[string(types.MessageSystemAttributeNameMessageGroupId)],
			Attempt:       attempt,
		},
		event: event,
	}, nil
}

const (
	eventHead = `{"Records":[`
	eventTail = `]}`
)

// batch is what one invocation gets.
type batch struct {
	messages []message
	bytes    int // of the payload
}

// add takes m if neither the number nor the payload grows too large for it. A
// batch takes any one message, however large.
func (b *batch) add(m message, most int) bool {
	if len(b.messages) >= most {
		return false
	}
	bytes := b.bytes + len(m.event) + len(",")
	if len(b.messages) == 0 {
		bytes = len(eventHead) + len(m.event) + len(eventTail)
	} else if bytes > maxPayload {
		return false
	}
	b.messages = append(b.messages, m)
	b.bytes = bytes
	return true
}

// payload returns the event.
func (b *batch) payload() []byte {
	buf := append(make([]byte, 0, b.bytes), eventHead...)
	for i, m := range b.messages {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = append(buf, m.event...)
	}
	return append(buf, eventTail...)
}

// remove takes out the messages that fit and returns them.
func (b *batch) remove(fits func(message) bool) (removed []message) {
	kept := b.messages[:0:0]
	for _, m := range b.messages {
		if fits(m) {
			removed = append(removed, m)
			b.bytes -= len(m.event) + len(",")
		} else {
			kept = append(kept, m)
		}
	}
	b.messages = kept
	return removed
}

func (b *batch) records() []Record {
	records := make([]Record, len(b.messages))
	for i, m := range b.messages {
		records[i] = m.Record
	}
	return records
}

// sqsRecord is a record of an SQS event in the order and with the names of
// "Using Lambda with Amazon SQS", Example Amazon SQS message event.
type sqsRecord struct {
	messageID, receiptHandle, body string
	attributes                     map[string]string
	messageAttributes              map[string]sqsAttribute
	md5OfMessageAttributes         string // left out when empty
	md5OfBody                      string
	arn, region                    string
}

type sqsAttribute struct {
	StringValue      *string  `json:"stringValue,omitempty"`
	BinaryValue      []byte   `json:"binaryValue,omitempty"`
	StringListValues []string `json:"stringListValues"`
	BinaryListValues [][]byte `json:"binaryListValues"`
	DataType         string   `json:"dataType"`
}

// encode writes the record by hand: it is done once for each message, and
// encoding/json takes several times as long.
func (r *sqsRecord) encode() ([]byte, error) {
	const fixed = 512 // names, attributes of the usual number, punctuation
	b := make([]byte, 0, fixed+len(r.receiptHandle)+len(r.body)+len(r.body)/8)
	b = plainjson.AppendString(append(b, `{"messageId":`...), r.messageID)
	b = plainjson.AppendString(append(b, `,"receiptHandle":`...), r.receiptHandle)
	b = plainjson.AppendString(append(b, `,"body":`...), r.body)
	b = append(b, `,"attributes":{`...)
	names := make([]string, 0, 16) // on the stack
	for name := range r.attributes {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(plainjson.AppendString(b, name), ':')
		b = plainjson.AppendString(b, r.attributes[name])
	}
	b = append(b, `},"messageAttributes":`...)
	if len(r.messageAttributes) == 0 {
		b = append(b, `{}`...)
	} else {
		attributes, err := marshal(r.messageAttributes)
		if err != nil {
			return nil, err
		}
		b = append(b, attributes...)
	}
	if r.md5OfMessageAttributes != "" {
		b = plainjson.AppendString(append(b, `,"md5OfMessageAttributes":`...), r.md5OfMessageAttributes)
	}
	b = plainjson.AppendString(append(b, `,"md5OfBody":`...), r.md5OfBody)
	b = append(b, `,"eventSource":"aws:sqs"`...)
	b = plainjson.AppendString(append(b, `,"eventSourceARN":`...), r.arn)
	b = plainjson.AppendString(append(b, `,"awsRegion":`...), r.region)
	return append(b, '}'), nil
}

// marshal leaves HTML characters as they are, as Lambda does.
func marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}
