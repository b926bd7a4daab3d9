package sqs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

func text(value string) types.MessageAttributeValue {
	return types.MessageAttributeValue{DataType: aws.String("String"), StringValue: &value}
}

func typed(kind, value string) types.MessageAttributeValue {
	return types.MessageAttributeValue{DataType: &kind, StringValue: &value}
}

func binary(value string) types.MessageAttributeValue {
	return types.MessageAttributeValue{DataType: aws.String("Binary"), BinaryValue: []byte(value)}
}

func TestSendMessageRefuses(t *testing.T) {
	eleven := map[string]types.MessageAttributeValue{}
	for i := range 11 {
		eleven[fmt.Sprint("a", i)] = text("x")
	}
	with := func(name string, value types.MessageAttributeValue) awssqs.SendMessageInput {
		return awssqs.SendMessageInput{MessageBody: aws.String("a"), MessageAttributes: map[string]types.MessageAttributeValue{name: value}}
	}
	body := func(body string) awssqs.SendMessageInput { return awssqs.SendMessageInput{MessageBody: &body} }
	big := strings.Repeat("x", 1<<20)
	for name, tc := range map[string]struct {
		in   awssqs.SendMessageInput
		code string
	}{
		"empty body":           {body(""), "MissingParameter"},
		"control character":    {body("a\x00"), "InvalidMessageContents"},
		"noncharacter":         {body("a\uFFFE"), "InvalidMessageContents"},
		"1 MiB + 1":            {body(big + "x"), "InvalidParameterValue"},
		"1 MiB with attribute": {awssqs.SendMessageInput{MessageBody: &big, MessageAttributes: map[string]types.MessageAttributeValue{"a": text("b")}}, "InvalidParameterValue"},
		"delay":                {awssqs.SendMessageInput{MessageBody: aws.String("a"), DelaySeconds: 901}, "InvalidParameterValue"},
		"eleven attributes":    {awssqs.SendMessageInput{MessageBody: aws.String("a"), MessageAttributes: eleven}, "InvalidParameterValue"},
		"reserved name":        {with("aws.thing", text("x")), "InvalidParameterValue"},
		"name with a space":    {with("a b", text("x")), "InvalidParameterValue"},
		"name with a sign":     {with("a§b", text("x")), "InvalidParameterValue"},
		"name begins with .":   {with(".a", text("x")), "InvalidParameterValue"},
		"name with ..":         {with("a..b", text("x")), "InvalidParameterValue"},
		"name of 257":          {with(strings.Repeat("a", 257), text("x")), "InvalidParameterValue"},
		"unknown type":         {with("a", typed("Boolean", "true")), "InvalidParameterValue"},
		"no type":              {with("a", typed("", "x")), "InvalidParameterValue"},
		"empty value":          {with("a", text("")), "InvalidParameterValue"},
		"no number":            {with("a", typed("Number", "seven")), "InvalidParameterValue"},
		"number too large":     {with("a", typed("Number", "-1e127")), "InvalidParameterValue"},
		"number too small":     {with("a", typed("Number", "1e-129")), "InvalidParameterValue"},
		"39 digits":            {with("a", typed("Number", "1."+strings.Repeat("0", 37)+"1")), "InvalidParameterValue"},
		"value's characters":   {with("a", text("\x01")), "InvalidParameterValue"},
		"empty binary":         {with("a", binary("")), "InvalidParameterValue"},
		"list values": {with("a", types.MessageAttributeValue{DataType: aws.String("String"), StringListValues: []string{"x"}}),
			"AWS.SimpleQueueService.UnsupportedOperation"},
		"group id of 129":        {awssqs.SendMessageInput{MessageBody: aws.String("a"), MessageGroupId: aws.String(strings.Repeat("g", 129))}, "InvalidParameterValue"},
		"empty group id":         {awssqs.SendMessageInput{MessageBody: aws.String("a"), MessageGroupId: aws.String("")}, "InvalidParameterValue"},
		"empty deduplication id": {awssqs.SendMessageInput{MessageBody: aws.String("a"), MessageDeduplicationId: aws.String("")}, "InvalidParameterValue"},
		"system attribute": {awssqs.SendMessageInput{MessageBody: aws.String("a"), MessageSystemAttributes: map[string]types.MessageSystemAttributeValue{
			"Other": {DataType: aws.String("String"), StringValue: aws.String("x")}}}, "InvalidParameterValue"},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(b *bench) {
				queue := b.queue("orders")
				tc.in.QueueUrl = queue
				_, err := b.SendMessage(b.ctx, &tc.in)
				b.wantCode(err, tc.code)
				b.counts(queue, "0", "0", "0")
			})
		})
	}
}

func TestNumbers(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders")
		for _, number := range []string{"0", "-0.0", "1e126", "-1E+126", "1e-128", "+.5", "7.", "00012", strings.Repeat("9", 38), "1" + strings.Repeat("0", 60)} {
			if _, err := b.SendMessage(b.ctx, &awssqs.SendMessageInput{QueueUrl: queue, MessageBody: aws.String("a"),
				MessageAttributes: map[string]types.MessageAttributeValue{"n": typed("Number", number)}}); err != nil {
				b.Errorf("%s: %v", number, err)
			}
		}
	})
}

func TestReceiveMessageRefuses(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders")
		for _, in := range []awssqs.ReceiveMessageInput{
			{MaxNumberOfMessages: 11}, {MaxNumberOfMessages: -1}, {WaitTimeSeconds: 21}, {WaitTimeSeconds: -1},
			{VisibilityTimeout: 43_201}, {VisibilityTimeout: -1},
		} {
			in.QueueUrl = queue
			_, err := b.ReceiveMessage(b.ctx, &in)
			b.wantCode(err, "InvalidParameterValue")
		}
		_, err := b.ReceiveMessage(b.ctx, &awssqs.ReceiveMessageInput{QueueUrl: queue,
			MessageSystemAttributeNames: []types.MessageSystemAttributeName{"Colour"}})
		wantType[*types.InvalidAttributeName](b, err)
		// The older parameter takes names of queue attributes, without effect.
		b.send(queue, "a")
		for name, code := range map[string]string{"Colour": "InvalidAttributeName", "QueueArn": "", "Policy": ""} {
			_, answer, got := post(b.server, "AmazonSQS.ReceiveMessage", `{"QueueUrl":"`+*queue+`","VisibilityTimeout":0,"AttributeNames":["`+name+`"]}`)
			if messages, _ := answer["Messages"].([]any); got != code || code == "" && (len(messages) != 1 || messages[0].(map[string]any)["Attributes"] != nil) {
				b.Errorf("%s: %q %v, want %q and no attributes", name, got, answer, code)
			}
		}
	})
}

func TestReceiptHandlesThatNeverWere(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders")
		for _, handle := range []string{"nonsense", "AAAA", strings.Repeat("A", 32)} {
			wantType[*types.ReceiptHandleIsInvalid](b, b.delete(queue, &handle))
			wantType[*types.ReceiptHandleIsInvalid](b, b.hide(queue, &handle, 1))
		}
		b.wantCode(b.delete(queue, aws.String("")), "MissingParameter")
	})
}

// A server may have the limit that SQS had until August 2025.
func TestMaxBatchBytes(t *testing.T) {
	virtual(t, func(b *bench) {
		small := sqs.New(sqs.Options{MaxBatchBytes: 256 << 10})
		defer func() { _ = small.Close() }()
		in := &awssqs.SendMessageBatchInput{QueueUrl: aws.String(small.QueueURL("orders")), Entries: []types.SendMessageBatchRequestEntry{
			{Id: aws.String("0"), MessageBody: aws.String(strings.Repeat("x", 256<<10+1))}}}
		_, err := newClient(small).SendMessageBatch(b.ctx, in)
		wantType[*types.BatchRequestTooLong](b, err)
	})
}

func TestSeveralEntriesFail(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders")
		out, err := b.DeleteMessageBatch(b.ctx, &awssqs.DeleteMessageBatchInput{QueueUrl: queue, Entries: []types.DeleteMessageBatchRequestEntry{
			{Id: aws.String("0"), ReceiptHandle: aws.String("a")}, {Id: aws.String("1"), ReceiptHandle: aws.String("b")}}})
		if err != nil || len(out.Failed) != 2 || len(out.Successful) != 0 {
			b.Errorf("%+v, %v", out, err)
		}
	})
}
