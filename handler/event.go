package handler

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/attribute"
)

// MessageFunc is a function that handles an SQS message as aws-lambda-go
// decodes it. It makes such a function, where one exists, a [batch.Handler]:
//
//	handler.Run(handler.MessageFunc(handleMessage))
type MessageFunc func(ctx context.Context, m events.SQSMessage) error

// Handle calls f.
func (f MessageFunc) Handle(ctx context.Context, r batch.Record) error { return f(ctx, toMessage(r)) }

func fromEvent(event events.SQSEvent) ([]batch.Record, error) {
	if event.Records == nil {
		return nil, fmt.Errorf("it has no Records")
	}
	records := make([]batch.Record, len(event.Records))
	for i, m := range event.Records {
		if m.EventSource != "" && m.EventSource != "aws:sqs" {
			return nil, fmt.Errorf("Records[%d] comes from %q, not from aws:sqs", i, m.EventSource)
		}
		if m.MessageId == "" {
			return nil, fmt.Errorf("Records[%d] has no messageId", i)
		}
		records[i] = fromMessage(m)
	}
	return records, nil
}

func fromMessage(m events.SQSMessage) batch.Record {
	r := batch.Record{
		MessageID:              m.MessageId,
		ReceiptHandle:          m.ReceiptHandle,
		Body:                   m.Body,
		MD5OfBody:              m.Md5OfBody,
		MD5OfMessageAttributes: m.Md5OfMessageAttributes,
		QueueARN:               m.EventSourceARN,
		Region:                 m.AWSRegion,
	}
	for name, value := range m.Attributes {
		attribute.Set(&r, name, value)
	}
	if len(m.MessageAttributes) > 0 {
		r.MessageAttributes = make(map[string]batch.MessageAttribute, len(m.MessageAttributes))
	}
	for name, a := range m.MessageAttributes {
		r.MessageAttributes[name] = batch.MessageAttribute{DataType: a.DataType, StringValue: aws.ToString(a.StringValue), BinaryValue: a.BinaryValue}
	}
	return r
}

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
		Attributes:             make(map[string]string, 8),
		MessageAttributes:      make(map[string]events.SQSMessageAttribute, len(r.MessageAttributes)),
	}
	set := func(name, value string) {
		if value != "" {
			m.Attributes[name] = value
		}
	}
	setNumber := func(name string, n int64) {
		if n > 0 { // a time that is zero is before 1970
			set(name, strconv.FormatInt(n, 10))
		}
	}
	setNumber("ApproximateReceiveCount", int64(r.Attempt))
	setNumber("SentTimestamp", r.SentAt.UnixMilli())
	setNumber("ApproximateFirstReceiveTimestamp", r.FirstReceivedAt.UnixMilli())
	set("SenderId", r.SenderID)
	set("MessageGroupId", r.GroupID)
	set("MessageDeduplicationId", r.DeduplicationID)
	set("SequenceNumber", r.SequenceNumber)
	set("AWSTraceHeader", r.TraceHeader)
	set("DeadLetterQueueSourceArn", r.DeadLetterQueueSourceARN)
	for name, value := range r.OtherAttributes {
		set(name, value)
	}
	for name, a := range r.MessageAttributes {
		ma := events.SQSMessageAttribute{DataType: a.DataType, StringListValues: []string{}, BinaryListValues: [][]byte{}}
		if strings.HasPrefix(a.DataType, "Binary") {
			ma.BinaryValue = a.BinaryValue
		} else {
			ma.StringValue = &a.StringValue
		}
		m.MessageAttributes[name] = ma
	}
	return m
}
