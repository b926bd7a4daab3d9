package testqueue

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/aws/aws-lambda-go/events"
	"github.com/sqsbatch/sqsbatch/batch"
)

// Event is the event that Lambda would make of records, for what
// handler.LambdaHandler's Invoke is given.
func Event(records []batch.Record) []byte {
	event := events.SQSEvent{Records: make([]events.SQSMessage, len(records))}
	for i, r := range records {
		m := events.SQSMessage{
			MessageId: r.MessageID, ReceiptHandle: r.ReceiptHandle, Body: r.Body,
			Attributes:        map[string]string{"ApproximateReceiveCount": strconv.Itoa(r.Attempt)},
			MessageAttributes: map[string]events.SQSMessageAttribute{},
			EventSource:       "aws:sqs", EventSourceARN: r.QueueARN, AWSRegion: r.Region,
		}
		if r.GroupID != "" {
			m.Attributes["MessageGroupId"] = r.GroupID
		}
		if !r.SentAt.IsZero() {
			m.Attributes["SentTimestamp"] = strconv.FormatInt(r.SentAt.UnixMilli(), 10)
		}
		for name, a := range r.MessageAttributes {
			attribute := events.SQSMessageAttribute{DataType: a.DataType, BinaryValue: a.BinaryValue}
			if !strings.HasPrefix(a.DataType, "Binary") {
				attribute.StringValue = &a.StringValue
			}
			m.MessageAttributes[name] = attribute
		}
		event.Records[i] = m
	}
	text, err := json.Marshal(event)
	if err != nil {
		panic(err) // it has nothing that encoding/json refuses
	}
	return text
}
