package handler

import (
	"context"
	"maps"
	"strconv"
	"strings"

	"github.com/aws/aws-lambda-go/events"
	"github.com/sqsbatch/sqsbatch/batch"
)

// MessageFunc is a function that handles an SQS message as aws-lambda-go
// decodes it. It makes such a function, where one exists, a [batch.Handler]:
//
//	handler.Run(handler.MessageFunc(handleMessage))
type MessageFunc func(ctx context.Context, m events.SQSMessage) error

// Handle calls f.
func (f MessageFunc) Handle(ctx context.Context, r batch.Record) error { return f(ctx, toMessage(r)) }

func toMessage(r batch.Record) events.SQSMessage {
	m := events.SQSMessage{
		MessageId:              r.MessageID,
		ReceiptHandle:          r.ReceiptHandle,
		Body:                   r.Body,
		Md5OfBody:              r.MD5OfBody,
		Md5OfMessageAttributes: r.MD5OfMessageAttributes,
		EventSource:            "aws:sqs",
		EventSourceARN:         r.QueueARN,
		AWSRegion:              r.Region,
		Attributes: map[string]string{
			"ApproximateReceiveCount":          positive(int64(r.Attempt)),
			"SentTimestamp":                    positive(r.SentAt.UnixMilli()),
			"ApproximateFirstReceiveTimestamp": positive(r.FirstReceivedAt.UnixMilli()),
			"SenderId":                         r.SenderID,
			"MessageGroupId":                   r.GroupID,
			"MessageDeduplicationId":           r.DeduplicationID,
			"SequenceNumber":                   r.SequenceNumber,
			"AWSTraceHeader":                   r.TraceHeader,
			"DeadLetterQueueSourceArn":         r.DeadLetterQueueSourceARN,
		},
		MessageAttributes: make(map[string]events.SQSMessageAttribute, len(r.MessageAttributes)),
	}
	maps.Copy(m.Attributes, r.OtherAttributes)
	maps.DeleteFunc(m.Attributes, func(_, value string) bool { return value == "" })
	for name, a := range r.MessageAttributes {
		attribute := events.SQSMessageAttribute{DataType: a.DataType, StringListValues: []string{}, BinaryListValues: [][]byte{}}
		if strings.HasPrefix(a.DataType, "Binary") {
			attribute.BinaryValue = a.BinaryValue
		} else {
			attribute.StringValue = &a.StringValue
		}
		m.MessageAttributes[name] = attribute
	}
	return m
}

// positive returns n in digits, or "" unless it is above 0: a missing time is before 1970.
func positive(n int64) string {
	if n <= 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}
