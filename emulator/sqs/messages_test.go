package sqs_test

import (
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

func with(name string, value types.MessageAttributeValue) awssqs.SendMessageInput {
	return awssqs.SendMessageInput{MessageBody: aws.String("a"), MessageAttributes: map[string]types.MessageAttributeValue{name: value}}
}

// Cases without a conformance check, because AWS does not document enough, or only the code
// matters.
func TestSendMessageRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		in   awssqs.SendMessageInput
		code string
	}{
		"empty body":       {awssqs.SendMessageInput{MessageBody: aws.String("")}, "MissingParameter"},
		"name with a sign": {with("a§b", text("x")), "InvalidParameterValue"},
		"number too large": {with("a", typed("Number", "-1e127")), "InvalidParameterValue"},
		"number too small": {with("a", typed("Number", "1e-129")), "InvalidParameterValue"},
		"39 digits":        {with("a", typed("Number", "1."+strings.Repeat("0", 37)+"1")), "InvalidParameterValue"},
		"list values": {with("a", types.MessageAttributeValue{DataType: aws.String("String"), StringListValues: []string{"x"}}),
			"AWS.SimpleQueueService.UnsupportedOperation"},
		"empty group id":         {awssqs.SendMessageInput{MessageBody: aws.String("a"), MessageGroupId: aws.String("")}, "InvalidParameterValue"},
		"empty deduplication id": {awssqs.SendMessageInput{MessageBody: aws.String("a"), MessageDeduplicationId: aws.String("")}, "InvalidParameterValue"},
	} {
		virtualRun(t, name, func(b *bench) {
			queue := b.queue("orders")
			tc.in.QueueUrl = queue
			b.wantCode(errOf(b.SendMessage(b.ctx, &tc.in)), tc.code)
			b.counts(queue, "0", "0", "0")
		})
	}
}

func TestNumbers(t *testing.T) {
	withOrders(t, func(b *bench, queue *string) {
		for _, number := range []string{"0", "-0.0", "1e126", "-1E+126", "1e-128", "+.5", "7.", "00012", strings.Repeat("9", 38), "1" + strings.Repeat("0", 60)} {
			b.Log(number)
			b.sent(queue, with("n", typed("Number", number)))
		}
	})
}

func TestReceiveMessageRefusesUnknownAttributes(t *testing.T) {
	withOrders(t, func(b *bench, queue *string) {
		wantType[*types.InvalidAttributeName](b, errOf(b.ReceiveMessage(b.ctx, &awssqs.ReceiveMessageInput{QueueUrl: queue,
			MessageSystemAttributeNames: []types.MessageSystemAttributeName{"Colour"}})))
		// The older parameter accepts names of queue attributes, without effect.
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
	withOrders(t, func(b *bench, queue *string) {
		for _, handle := range []string{"nonsense", "AAAA", strings.Repeat("A", 32)} {
			wantType[*types.ReceiptHandleIsInvalid](b, b.delete(queue, &handle))
			wantType[*types.ReceiptHandleIsInvalid](b, b.hide(queue, &handle, 1))
		}
		b.wantCode(b.delete(queue, aws.String("")), "MissingParameter")
	})
}

// A server may have the limit that SQS had until August 2025.
func TestMaxBatchBytes(t *testing.T) {
	b := newBench(t, sqs.Config{MaxBatchBytes: 256 << 10})
	wantType[*types.BatchRequestTooLong](b, errOf(b.SendMessageBatch(b.ctx, &awssqs.SendMessageBatchInput{
		QueueUrl: b.queue("orders"), Entries: []types.SendMessageBatchRequestEntry{
			{Id: aws.String("0"), MessageBody: aws.String(strings.Repeat("x", 256<<10+1))}}})))
}
