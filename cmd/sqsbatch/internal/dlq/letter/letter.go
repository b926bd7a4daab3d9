// Package letter is a message of a dead-letter queue: how it is read from SQS, selected,
// edited, counted in groups, shown, and written to a file. It calls nothing.
package letter

import (
	"cmp"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/message"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// A Letter is a message of a dead-letter queue, as it was received.
type Letter struct {
	// Message is what can be sent again. Its Attempt is the receive count.
	message.Message
	// ID is the message's id in this queue.
	ID string
	// Handle is the receipt handle; "" for a letter from a file.
	Handle string
	// Sent is when it was sent. On standard queues a message that SQS moved keeps the time
	// of its first send, and its retention counts from then.
	Sent time.Time
	// FirstReceived is when it was first received. Zero if SQS did not say.
	FirstReceived time.Time
	// Source is the ARN of the queue from which SQS moved it, "" if SQS did not move it.
	Source string
	// Queue is the ARN of the dead-letter queue. "" if it is not known.
	Queue string
	// System are the system attributes as SQS returned them, for files. The fields above
	// are read from them.
	System map[string]string
	// Origin is what sqsbatch wrote when it dead-lettered the message. Nil if there is no
	// such attribute, or one that this version cannot read.
	Origin *partialfailure.Origin
}

// FromSQS is a message that SQS returned. It must have been received with all its
// attributes.
func FromSQS(m *types.Message) Letter {
	l := Letter{
		ID:      aws.ToString(m.MessageId),
		Handle:  aws.ToString(m.ReceiptHandle),
		Message: message.Message{Body: aws.ToString(m.Body)},
	}
	l.readSystem(m.Attributes)
	for name, a := range m.MessageAttributes {
		l.SetAttribute(name, batch.MessageAttribute{DataType: aws.ToString(a.DataType), StringValue: aws.ToString(a.StringValue), BinaryValue: a.BinaryValue})
	}
	l.readOrigin()
	return l
}

// readSystem sets System, and the fields that are read from it.
func (l *Letter) readSystem(system map[string]string) {
	l.System = system
	l.Sent = milliseconds(system["SentTimestamp"])
	l.FirstReceived = milliseconds(system["ApproximateFirstReceiveTimestamp"])
	l.Source = system["DeadLetterQueueSourceArn"]
	l.GroupID = system["MessageGroupId"]
	l.DeduplicationID = system["MessageDeduplicationId"]
	l.TraceHeader = system["AWSTraceHeader"]
	l.Attempt, _ = strconv.Atoi(system["ApproximateReceiveCount"]) // 0 if SQS did not say
}

// readOrigin sets Origin from the attributes.
func (l *Letter) readOrigin() {
	if a, ok := l.Attributes[partialfailure.OriginAttribute]; ok {
		if origin, err := partialfailure.ParseOrigin(a.StringValue); err == nil {
			l.Origin = &origin
		}
	}
}

// SourceARN is the queue that the message came from: as SQS says, else as the message itself
// says, which anyone may have written; "" if neither does. Use it to show it, not to call it.
func (l *Letter) SourceARN() string { return cmp.Or(l.Source, l.NamedSource()) }

// NamedSource is the queue that only the message's attribute names, "" if SQS names one.
func (l *Letter) NamedSource() string {
	if o := l.origin(); o != nil {
		return o.Queue
	}
	return ""
}

// Reason is the text of the error for which sqsbatch dead-lettered the message, else "".
func (l *Letter) Reason() string {
	if o := l.origin(); o != nil {
		return o.Reason
	}
	return ""
}

// origin is Origin, but nil if SQS moved the message itself. Its attribute is then from before,
// or its sender's.
func (l *Letter) origin() *partialfailure.Origin {
	if l.Source != "" {
		return nil
	}
	return l.Origin
}

// milliseconds is a time in milliseconds since 1970; zero if there is none.
func milliseconds(text string) time.Time {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(n).UTC()
}
