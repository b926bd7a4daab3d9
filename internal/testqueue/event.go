package testqueue

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/sqsbatch/sqsbatch/batch"
)

// Event is the event that Lambda would make of records, for what
// handler.LambdaHandler's Invoke is given.
func Event(t testing.TB, records []batch.Record) []byte {
	t.Helper()
	list := make([]map[string]any, len(records))
	for i, r := range records {
		attributes := map[string]string{"ApproximateReceiveCount": strconv.Itoa(r.Attempt)}
		if r.GroupID != "" {
			attributes["MessageGroupId"] = r.GroupID
		}
		own := map[string]any{}
		for name, a := range r.MessageAttributes {
			value := map[string]any{"dataType": a.DataType}
			if a.BinaryValue != nil {
				value["binaryValue"] = a.BinaryValue
			} else {
				value["stringValue"] = a.StringValue
			}
			own[name] = value
		}
		list[i] = map[string]any{
			"messageId": r.MessageID, "receiptHandle": r.ReceiptHandle, "body": r.Body, "attributes": attributes,
			"messageAttributes": own, "eventSource": "aws:sqs", "eventSourceARN": r.QueueARN, "awsRegion": r.Region,
		}
	}
	event, err := json.Marshal(map[string]any{"Records": list})
	if err != nil {
		t.Fatal(err)
	}
	return event
}
