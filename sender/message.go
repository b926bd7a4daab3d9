package sender

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/attribute"
)

const (
	// maxBytes limits a message, and the messages of a call together.
	maxBytes = 1 << 20
	// maxEntries limits the messages of a call.
	maxEntries    = 10
	maxAttributes = 10
	maxDelay      = 15 * time.Minute
)

// Message is a message to send. Make one with [JSON] or [Text] and set the other fields, or
// fill in all fields. Do not change Attributes until the message has its result.
type Message struct {
	// Body is the text of the message. Required: SQS accepts no empty messages.
	Body string

	// Attributes are up to ten values that are sent together with the body. Their names,
	// types and values count towards the limit of 1 MiB for a message.
	Attributes map[string]batch.MessageAttribute

	// Group is the message group. A FIFO queue needs one: it keeps the order of the messages
	// of a group. On a standard queue, the group is the tenant of a fair queue, and imposes
	// no order. It has up to 128 letters, digits and punctuation characters.
	Group string

	// DeduplicationID is for FIFO queues, which drop a message with the id of an earlier one
	// for five minutes. Defaults to a random id.
	DeduplicationID string

	// Delay is how long the queue hides the message at first, up to 15 min, rounded up to
	// seconds. Zero is the queue's own delay. It must be zero for a FIFO queue.
	Delay time.Duration

	// TraceHeader is the header of AWS X-Ray (AWSTraceHeader). It does not count towards
	// the size. Defaults to the header of the record, or else of the Lambda invocation, in
	// the context of Send or Enqueue.
	TraceHeader string

	err error // why the message could not be made
}

// JSON returns a message whose body is v in JSON. If v cannot be encoded, sending the message
// fails with a [MessageError].
func JSON(v any) Message {
	body, err := json.Marshal(v)
	return Message{Body: string(body), err: err}
}

// Text returns a message with a body.
func Text(body string) Message { return Message{Body: body} }

// MessageError is returned when SQS would refuse the message. Such a message is not sent, and
// has no effect on other messages. The text has neither the body nor attribute values.
type MessageError struct {
	// Field is the wrong field of Message: "Body", or "Attributes[tenant]".
	Field string
	// Reason is the rule that Field breaks.
	Reason string
	// Err is the error of [JSON]; nil for other causes.
	Err error
}

func (e *MessageError) Error() string { return "sender: " + e.Field + " " + e.Reason }

func (e *MessageError) Unwrap() error { return e.Err }

func wrong(field, format string, args ...any) error {
	return &MessageError{Field: field, Reason: fmt.Sprintf(format, args...)}
}

// size returns the bytes that SQS counts: the body, and the name, type and value of each
// attribute.
func (m *Message) size() int {
	n := len(m.Body)
	for name, a := range m.Attributes {
		n += len(name) + len(a.DataType) + len(a.StringValue) + len(a.BinaryValue)
	}
	return n
}

// check applies the rules of SendMessage in the API reference.
func (m *Message) check(fifo bool) error {
	switch size := m.size(); {
	case m.err != nil:
		return &MessageError{Field: "Body", Reason: "cannot be encoded: " + m.err.Error(), Err: m.err}
	case m.Body == "":
		return wrong("Body", "is empty, and SQS takes no empty messages")
	case size > maxBytes:
		return wrong("Body", "is too large: it has %d bytes, and %d with the attributes. SQS takes %d", len(m.Body), size, maxBytes)
	case !attribute.ValidText(m.Body):
		return wrong("Body", "has characters that SQS does not take (see SendMessage in the API reference)")
	case len(m.Attributes) > maxAttributes:
		return wrong("Attributes", "are %d, must be at most %d", len(m.Attributes), maxAttributes)
	case !attribute.ValidText(m.TraceHeader):
		return wrong("TraceHeader", "has characters that SQS does not take")
	}
	for name, a := range m.Attributes {
		if reason := attribute.Fault(name, a); reason != "" {
			return wrong("Attributes["+name+"]", "%s", reason)
		}
	}
	return m.checkQueueRules(fifo)
}

// checkQueueRules applies the rules for Group, DeduplicationID and Delay, which differ for
// FIFO queues.
func (m *Message) checkQueueRules(fifo bool) error {
	switch {
	case m.Group != "" && !attribute.ValidToken(m.Group):
		return wrong("Group", "must have up to 128 letters, digits and punctuation characters")
	case fifo && m.Group == "":
		return wrong("Group", "is empty, and a FIFO queue needs it")
	case m.DeduplicationID != "" && !fifo:
		return wrong("DeduplicationID", "is set, and only FIFO queues take it")
	case m.DeduplicationID != "" && !attribute.ValidToken(m.DeduplicationID):
		return wrong("DeduplicationID", "must have up to 128 letters, digits and punctuation characters")
	case m.Delay < 0 || m.Delay > maxDelay:
		return wrong("Delay", "is %v, must be 0 to %v", m.Delay, maxDelay)
	case m.Delay != 0 && fifo:
		return wrong("Delay", "is %v, and a FIFO queue takes no delay of a message: set DelaySeconds of the queue", m.Delay)
	}
	return nil
}

// request returns the message as an entry of a call, with its position as the id.
func (m *Message) request(position int) types.SendMessageBatchRequestEntry {
	in := types.SendMessageBatchRequestEntry{
		Id: aws.String(strconv.Itoa(position)), MessageBody: &m.Body,
		MessageAttributes: attribute.SDK(m.Attributes), MessageSystemAttributes: attribute.Trace(m.TraceHeader),
	}
	if m.Group != "" {
		in.MessageGroupId = &m.Group
	}
	if m.DeduplicationID != "" {
		in.MessageDeduplicationId = &m.DeduplicationID
	}
	if m.Delay > 0 {
		in.DelaySeconds = int32(math.Ceil(m.Delay.Seconds()))
	}
	return in
}
