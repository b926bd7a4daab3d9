package lambda_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/emulator/lambda"
)

func succeed(context.Context, events.SQSEvent) (string, error) { return "", nil }

func TestMappingValidation(t *testing.T) {
	filter := []string{`{"body": ["a"]}`}
	for _, c := range []struct {
		change func(*lambda.Mapping)
		want   string // "" is valid
	}{
		{func(m *lambda.Mapping) {}, ""},
		{func(m *lambda.Mapping) { m.BatchSize, m.Window = 10_000, 300*time.Second }, ""},
		{func(m *lambda.Mapping) { m.MaximumConcurrency = 1000 }, ""},
		{func(m *lambda.Mapping) { m.QueueURL += ".fifo" }, ""},
		{func(m *lambda.Mapping) { m.Function = nil }, "Mapping.Function is nil"},
		{func(m *lambda.Mapping) { m.SQS = nil }, "Mapping.SQS is nil"},
		{func(m *lambda.Mapping) { m.QueueURL = "" }, "Mapping.QueueURL is empty"},
		{func(m *lambda.Mapping) { m.QueueARN = "orders" }, `Mapping.QueueARN "orders" is not the ARN of an SQS queue`},
		{func(m *lambda.Mapping) { m.BatchSize = -1 }, "BatchSize -1: need 1 to 10000"},
		{func(m *lambda.Mapping) { m.BatchSize = 10_001 }, "BatchSize 10001: need 1 to 10000"},
		{func(m *lambda.Mapping) { m.BatchSize = 20 }, "BatchSize 20 needs MaximumBatchingWindowInSeconds of at least 1"},
		{func(m *lambda.Mapping) { m.Window = 301 * time.Second }, "MaximumBatchingWindowInSeconds 301: need 0 to 300"},
		{func(m *lambda.Mapping) { m.Window = -time.Second }, "MaximumBatchingWindowInSeconds -1: need 0 to 300"},
		{func(m *lambda.Mapping) { m.Window = 1500 * time.Millisecond }, "MaximumBatchingWindowInSeconds 1.5: need whole seconds"},
		{func(m *lambda.Mapping) { m.MaximumConcurrency = 1 }, "MaximumConcurrency 1: need 2 to 1000"},
		{func(m *lambda.Mapping) { m.MaximumConcurrency = 1001 }, "MaximumConcurrency 1001: need 2 to 1000"},
		{func(m *lambda.Mapping) { m.QueueURL += ".fifo"; m.BatchSize = 11 }, "BatchSize 11: a FIFO queue takes at most 10"},
		{func(m *lambda.Mapping) { m.QueueURL += ".fifo"; m.Window = time.Second }, "MaximumBatchingWindowInSeconds 1: a FIFO queue takes none"},
		{func(m *lambda.Mapping) { m.Pollers = 5 }, ""},
		{func(m *lambda.Mapping) { m.Pollers = -1 }, "Pollers -1: need 1 to 1000"},
		{func(m *lambda.Mapping) { m.Pollers = 1001 }, "Pollers 1001: need 1 to 1000"},
		{func(m *lambda.Mapping) { m.QueueURL += ".fifo"; m.Pollers = 2 }, "Pollers 2: a FIFO queue takes one"},
		{func(m *lambda.Mapping) { m.Filters = slices.Repeat(filter, 10) }, ""},
		{func(m *lambda.Mapping) { m.Filters = slices.Repeat(filter, 11) }, "11 Filters: a mapping takes 5, and 10 with a raised quota"},
		{func(m *lambda.Mapping) { m.Filters = append(filter, `{"body": "a"}`) }, "Filters[1]: pattern.body: need a list"},
	} {
		m := lambda.Mapping{Function: &lambda.Deployment{}, SQS: awssqs.New(awssqs.Options{}), QueueURL: "http://localhost/000000000000/orders"}
		c.change(&m)
		err := m.Validate()
		switch {
		case c.want == "" && err != nil:
			t.Errorf("valid mapping: %v", err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("error %v, want %q", err, c.want)
		case c.want != "" && m.Run(context.Background()) == nil:
			t.Errorf("Run accepts a mapping that Validate refuses: %s", c.want)
		}
	}
}

func TestRunRefusesWhatTheQueueSays(t *testing.T) {
	virtual(t, func(w *world) {
		d := w.function(lambda.Function{Timeout: 60 * time.Second}, succeed)
		short := lambda.Mapping{Function: d, SQS: w.client, QueueURL: w.queue("short", 30)}
		if err := short.Run(w.ctx); err == nil || !strings.Contains(err.Error(), "Queue visibility timeout: 30 seconds is less than Function timeout: 60 seconds") {
			t.Errorf("short visibility: %v", err)
		}
		none := lambda.Mapping{Function: d, SQS: w.client, QueueURL: w.server.QueueURL("none")}
		err := none.Run(w.ctx)
		if _, ok := errors.AsType[*types.QueueDoesNotExist](err); !ok {
			t.Errorf("no queue: %v", err)
		}
	})
}

// The records have the fields of AWS's records, with AWS's names.
func TestEventRecord(t *testing.T) {
	virtual(t, func(w *world) {
		url := w.queue("orders", 30)
		var payload []byte
		d := inProcess(w.T, lambda.Function{}, func(_ context.Context, p []byte) ([]byte, error) {
			payload = append(payload, p...)
			return nil, nil
		})
		sent, err := w.client.SendMessage(w.ctx, &awssqs.SendMessageInput{
			QueueUrl: &url, MessageBody: aws.String(`<b>"é" & more</b>`), MessageGroupId: aws.String("tenant-1"),
			MessageAttributes: map[string]types.MessageAttributeValue{
				"name":   {DataType: aws.String("String"), StringValue: aws.String("value")},
				"amount": {DataType: aws.String("Number.int"), StringValue: aws.String("7")},
				"raw":    {DataType: aws.String("Binary"), BinaryValue: []byte{0, 1, 255}},
			},
			MessageSystemAttributes: map[string]types.MessageSystemAttributeValue{
				"AWSTraceHeader": {DataType: aws.String("String"), StringValue: aws.String("Root=1-5759e988-bd862e3fe1be46a994272793")},
			},
		})
		ok(t, err)
		w.runUntil(time.Second, lambda.Mapping{Function: d, QueueURL: url})

		var event struct{ Records []map[string]any }
		ok(t, json.Unmarshal(payload, &event))
		attributes := event.Records[0]["attributes"].(map[string]any)
		for _, name := range []string{"SentTimestamp", "SenderId", "ApproximateFirstReceiveTimestamp"} {
			if s, _ := attributes[name].(string); s == "" {
				t.Errorf("attribute %s is %v", name, attributes[name])
			}
			delete(attributes, name)
		}
		attribute := func(dataType, field, value string) map[string]any {
			return map[string]any{"dataType": dataType, field: value, "stringListValues": []any{}, "binaryListValues": []any{}}
		}
		want := []map[string]any{{
			"messageId":              *sent.MessageId,
			"receiptHandle":          w.invocations[0].Records[0].ReceiptHandle,
			"body":                   `<b>"é" & more</b>`,
			"md5OfBody":              *sent.MD5OfMessageBody,
			"md5OfMessageAttributes": *sent.MD5OfMessageAttributes,
			"eventSource":            "aws:sqs",
			"eventSourceARN":         "arn:aws:sqs:us-east-1:000000000000:orders",
			"awsRegion":              "us-east-1",
			"attributes": map[string]any{
				"ApproximateReceiveCount": "1", "MessageGroupId": "tenant-1", "AWSTraceHeader": "Root=1-5759e988-bd862e3fe1be46a994272793",
			},
			"messageAttributes": map[string]any{
				"name":   attribute("String", "stringValue", "value"),
				"amount": attribute("Number.int", "stringValue", "7"),
				"raw":    attribute("Binary", "binaryValue", "AAH/"),
			},
		}}
		if !reflect.DeepEqual(event.Records, want) {
			t.Errorf("records %v\nwant %v", event.Records, want)
		}
		if !strings.Contains(string(payload), `<b>\"é\" & more</b>`) {
			t.Errorf("HTML characters are escaped: %s", payload)
		}
	})
}

// Without attributes: no MD5 of them, and an empty object.
func TestEventRecordWithoutAttributes(t *testing.T) {
	virtual(t, func(w *world) {
		url := w.queue("orders", 30)
		var payload string
		d := inProcess(w.T, lambda.Function{}, func(_ context.Context, p []byte) ([]byte, error) {
			payload = string(p)
			return nil, nil
		})
		w.send(url, "plain")
		w.runUntil(time.Second, lambda.Mapping{Function: d, QueueURL: url, QueueARN: "arn:aws-cn:sqs:cn-north-1:111122223333:orders"})
		for _, want := range []string{`"messageAttributes":{}`, `"awsRegion":"cn-north-1"`, `"eventSourceARN":"arn:aws-cn:sqs:cn-north-1:111122223333:orders"`} {
			if !strings.Contains(payload, want) {
				t.Errorf("payload %s lacks %s", payload, want)
			}
		}
		if strings.Contains(payload, "md5OfMessageAttributes") {
			t.Errorf("payload %s has md5OfMessageAttributes", payload)
		}
	})
}
