package lambda

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/internal/plainjson"
)

// message is a received message with its encoded record, whose size decides the batch.
type message struct {
	Record
	event   []byte    // the encoded record
	expires time.Time // end of the visibility timeout
	receive int       // number of the poller's receive, from 1
}

// newMessage returns m with its record in Lambda's event format.
func newMessage(m types.Message, arn, region string) message {
	attempt, _ := strconv.Atoi(m.Attributes[string(types.MessageSystemAttributeNameApproximateReceiveCount)])
	return message{
		Record: Record{
			MessageID:     aws.ToString(m.MessageId),
			ReceiptHandle: aws.ToString(m.ReceiptHandle),
			Body:          aws.ToString(m.Body),
			GroupID:       m.Attributes[string(types.MessageSystemAttributeNameMessageGroupId)],
			Attempt:       attempt,
		},
		event: encode(m, arn, region),
	}
}

const (
	eventHead = `{"Records":[`
	eventTail = `]}`
)

// batch has the messages of one invocation.
type batch struct {
	messages []message
	bytes    int // size of the payload
}

// add adds m unless that makes more than most messages, or too large a payload. An empty batch
// accepts a message of any size.
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

// payload returns the event as JSON.
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

// remove removes the messages that match and returns them.
func (b *batch) remove(match func(message) bool) (removed []message) {
	kept := b.messages[:0:0]
	for _, m := range b.messages {
		if match(m) {
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

type sqsAttribute struct {
	StringValue      *string  `json:"stringValue,omitempty"`
	BinaryValue      []byte   `json:"binaryValue,omitempty"`
	StringListValues []string `json:"stringListValues"`
	BinaryListValues [][]byte `json:"binaryListValues"`
	DataType         string   `json:"dataType"`
}

// encode returns a record of an SQS event, in the order and with the names of "Using Lambda
// with Amazon SQS", Example Amazon SQS message event. Records are written by hand, because
// encoding/json takes several times as long.
func encode(m types.Message, arn, region string) []byte {
	const fixed = 512 // names, punctuation and the usual attributes
	handle, body := aws.ToString(m.ReceiptHandle), aws.ToString(m.Body)
	b := make([]byte, 0, fixed+len(handle)+len(body)+len(body)/8)
	b = plainjson.AppendString(append(b, `{"messageId":`...), aws.ToString(m.MessageId))
	b = plainjson.AppendString(append(b, `,"receiptHandle":`...), handle)
	b = plainjson.AppendString(append(b, `,"body":`...), body)
	b = append(b, `,"attributes":{`...)
	names := slices.AppendSeq(make([]string, 0, 16), maps.Keys(m.Attributes)) // no allocation
	slices.Sort(names)
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(plainjson.AppendString(b, name), ':')
		b = plainjson.AppendString(b, m.Attributes[name])
	}
	b = append(b, `},"messageAttributes":`...)
	if len(m.MessageAttributes) == 0 {
		b = append(b, `{}`...)
	} else {
		b = append(b, encodeAttributes(m.MessageAttributes)...)
	}
	if md5 := aws.ToString(m.MD5OfMessageAttributes); md5 != "" {
		b = plainjson.AppendString(append(b, `,"md5OfMessageAttributes":`...), md5)
	}
	b = plainjson.AppendString(append(b, `,"md5OfBody":`...), aws.ToString(m.MD5OfBody))
	b = append(b, `,"eventSource":"aws:sqs"`...)
	b = plainjson.AppendString(append(b, `,"eventSourceARN":`...), arn)
	b = plainjson.AppendString(append(b, `,"awsRegion":`...), region)
	return append(b, '}')
}

// encodeAttributes returns messageAttributes without HTML escaping, as Lambda does.
func encodeAttributes(attributes map[string]types.MessageAttributeValue) []byte {
	converted := make(map[string]sqsAttribute, len(attributes))
	for name, a := range attributes {
		converted[name] = sqsAttribute{a.StringValue, a.BinaryValue, []string{}, [][]byte{}, aws.ToString(a.DataType)}
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(converted) // strings and bytes always marshal
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}

// Event returns the payload with which an event source mapping of a queue would invoke a function
// for messages that were received.
func Event(messages []types.Message, queueARN string) []byte {
	var b batch
	for _, m := range messages {
		b.messages = append(b.messages, newMessage(m, queueARN, region(queueARN)))
	}
	return b.payload()
}
