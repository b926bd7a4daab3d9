package lambda

import (
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
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
