package lambda_test

import (
	"context"
	"encoding/json"
	"errors"
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
	d := inProcess(t, lambda.Function{}, func(context.Context, []byte) ([]byte, error) { return nil, nil })
	good := func(change func(*lambda.Mapping)) lambda.Mapping {
		m := lambda.Mapping{Function: d, SQS: awssqs.New(awssqs.Options{}), QueueURL: "http://localhost/000000000000/orders"}
		change(&m)
		return m
	}
	cases := []struct {
		m    lambda.Mapping
		want string // "" is valid
	}{
		{good(func(m *lambda.Mapping) {}), ""},
		{good(func(m *lambda.Mapping) { m.BatchSize, m.Window = 10_000, 300*time.Second }), ""},
		{good(func(m *lambda.Mapping) { m.MaximumConcurrency = 1000 }), ""},
		{good(func(m *lambda.Mapping) { m.QueueURL += ".fifo" }), ""},
		{good(func(m *lambda.Mapping) { m.Function = nil }), "Mapping.Function is nil"},
		{good(func(m *lambda.Mapping) { m.SQS = nil }), "Mapping.SQS is nil"},
		{good(func(m *lambda.Mapping) { m.QueueURL = "" }), "Mapping.QueueURL is empty"},
		{good(func(m *lambda.Mapping) { m.QueueARN = "orders" }), `Mapping.QueueARN "orders" is not the ARN of an SQS queue`},
		{good(func(m *lambda.Mapping) { m.BatchSize = -1 }), "BatchSize -1: need 1 to 10000"},
		{good(func(m *lambda.Mapping) { m.BatchSize = 10_001 }), "BatchSize 10001: need 1 to 10000"},
		{good(func(m *lambda.Mapping) { m.BatchSize = 20 }), "BatchSize 20 needs MaximumBatchingWindowInSeconds of at least 1"},
		{good(func(m *lambda.Mapping) { m.Window = 301 * time.Second }), "MaximumBatchingWindowInSeconds 301: need 0 to 300"},
		{good(func(m *lambda.Mapping) { m.Window = -time.Second }), "MaximumBatchingWindowInSeconds -1: need 0 to 300"},
		{good(func(m *lambda.Mapping) { m.Window = 1500 * time.Millisecond }), "MaximumBatchingWindowInSeconds 1.5: need whole seconds"},
		{good(func(m *lambda.Mapping) { m.MaximumConcurrency = 1 }), "MaximumConcurrency 1: need 2 to 1000"},
		{good(func(m *lambda.Mapping) { m.MaximumConcurrency = 1001 }), "MaximumConcurrency 1001: need 2 to 1000"},
		{good(func(m *lambda.Mapping) { m.QueueURL += ".fifo"; m.BatchSize = 11 }), "BatchSize 11: a FIFO queue takes at most 10"},
		{good(func(m *lambda.Mapping) { m.QueueURL += ".fifo"; m.Window = time.Second }), "MaximumBatchingWindowInSeconds 1: a FIFO queue takes none"},
		{good(func(m *lambda.Mapping) { m.Pollers = 5 }), ""},
		{good(func(m *lambda.Mapping) { m.Pollers = -1 }), "Pollers -1: need 1 to 1000"},
		{good(func(m *lambda.Mapping) { m.Pollers = 1001 }), "Pollers 1001: need 1 to 1000"},
		{good(func(m *lambda.Mapping) { m.QueueURL += ".fifo"; m.Pollers = 2 }), "Pollers 2: a FIFO queue takes one"},
	}
	for _, c := range cases {
		err := c.m.Validate()
		switch {
		case c.want == "" && err != nil:
			t.Errorf("valid mapping: %v", err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("error %v, want %q", err, c.want)
		case c.want != "" && c.m.Run(context.Background()) == nil:
			t.Errorf("Run takes what Validate does not: %s", c.want)
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
		var missing *types.QueueDoesNotExist
		if err := none.Run(w.ctx); !errors.As(err, &missing) {
			t.Errorf("no queue: %v", err)
		}
	})
}

// The records carry what AWS's carry, with AWS's names.
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
		if err := json.Unmarshal(payload, &event); err != nil || len(event.Records) != 1 {
			t.Fatalf("payload %s: %v", payload, err)
		}
		r := event.Records[0]
		handle := w.invocations[0].Records[0].ReceiptHandle
		for field, want := range map[string]any{
			"messageId":              *sent.MessageId,
			"receiptHandle":          handle,
			"body":                   `<b>"é" & more</b>`,
			"md5OfBody":              *sent.MD5OfMessageBody,
			"md5OfMessageAttributes": *sent.MD5OfMessageAttributes,
			"eventSource":            "aws:sqs",
			"eventSourceARN":         "arn:aws:sqs:us-east-1:000000000000:orders",
			"awsRegion":              "us-east-1",
		} {
			if r[field] != want {
				t.Errorf("%s is %v, want %v", field, r[field], want)
			}
			delete(r, field)
		}
		attributes := r["attributes"].(map[string]any)
		for name, want := range map[string]string{
			"ApproximateReceiveCount": "1", "MessageGroupId": "tenant-1",
			"AWSTraceHeader": "Root=1-5759e988-bd862e3fe1be46a994272793",
		} {
			if attributes[name] != want {
				t.Errorf("attribute %s is %v, want %s", name, attributes[name], want)
			}
		}
		for _, name := range []string{"SentTimestamp", "SenderId", "ApproximateFirstReceiveTimestamp"} {
			if s, _ := attributes[name].(string); s == "" {
				t.Errorf("attribute %s is %v", name, attributes[name])
			}
		}
		got, err := json.Marshal(r["messageAttributes"])
		ok(t, err)
		const want = `{"amount":{"binaryListValues":[],"dataType":"Number.int","stringListValues":[],"stringValue":"7"},` +
			`"name":{"binaryListValues":[],"dataType":"String","stringListValues":[],"stringValue":"value"},` +
			`"raw":{"binaryListValues":[],"binaryValue":"AAH/","dataType":"Binary","stringListValues":[]}}`
		if string(got) != want {
			t.Errorf("messageAttributes %s, want %s", got, want)
		}
		delete(r, "attributes")
		delete(r, "messageAttributes")
		if len(r) > 0 {
			t.Errorf("unknown fields %v", r)
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
