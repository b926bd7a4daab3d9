package handler

import (
	"context"
	"maps"
	"strconv"
	"strings"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/attribute"
)

// MessageFunc adapts an existing function that handles an SQS message of aws-lambda-go to
// [batch.Handler]:
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
		Attributes:             systemAttributes(r),
		MessageAttributes:      make(map[string]events.SQSMessageAttribute, len(r.MessageAttributes)),
	}
	for name, a := range r.MessageAttributes {
		value := events.SQSMessageAttribute{DataType: a.DataType, StringListValues: []string{}, BinaryListValues: [][]byte{}}
		if strings.HasPrefix(a.DataType, "Binary") {
			value.BinaryValue = a.BinaryValue
		} else {
			value.StringValue = &a.StringValue
		}
		m.MessageAttributes[name] = value
	}
	return m
}

// systemAttributes returns the attributes of a message that SQS sets.
func systemAttributes(r batch.Record) map[string]string {
	attributes := map[string]string{
		"ApproximateReceiveCount":          positive(int64(r.Attempt)),
		"SentTimestamp":                    positive(r.SentAt.UnixMilli()),
		"ApproximateFirstReceiveTimestamp": positive(r.FirstReceivedAt.UnixMilli()),
		"SenderId":                         r.SenderID,
		"MessageGroupId":                   r.GroupID,
		"MessageDeduplicationId":           r.DeduplicationID,
		"SequenceNumber":                   r.SequenceNumber,
		"AWSTraceHeader":                   r.TraceHeader,
		"DeadLetterQueueSourceArn":         r.DeadLetterQueueSourceARN,
	}
	maps.Copy(attributes, r.OtherAttributes)
	maps.DeleteFunc(attributes, func(_, value string) bool { return value == "" })
	return attributes
}

// SDKMessageFunc adapts an existing function that handles an SQS message of the AWS SDK, such as
// the body of a loop around ReceiveMessage, to [batch.Handler]. The handler also runs on Lambda:
//
//	handler.Run(handler.SDKMessageFunc(handleMessage))
//
// The function must not delete the message. Its return value decides whether sqsbatch does.
type SDKMessageFunc func(ctx context.Context, m types.Message) error

// Handle calls f.
func (f SDKMessageFunc) Handle(ctx context.Context, r batch.Record) error {
	return f(ctx, toSDKMessage(r))
}

func toSDKMessage(r batch.Record) types.Message {
	m := types.Message{
		MessageId: &r.MessageID, ReceiptHandle: &r.ReceiptHandle, Body: &r.Body, MD5OfBody: &r.MD5OfBody,
		Attributes: systemAttributes(r), MessageAttributes: attribute.SDK(r.MessageAttributes),
	}
	if r.MD5OfMessageAttributes != "" {
		m.MD5OfMessageAttributes = &r.MD5OfMessageAttributes
	}
	return m
}

// positive returns n in digits, or "" if it is not above 0: a time that is missing is
// before 1970.
func positive(n int64) string {
	if n <= 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}
