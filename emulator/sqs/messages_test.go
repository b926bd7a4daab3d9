package sqs_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

const attributesDigest = "b13dc7b7075345f3c3aa9e8810a3fd91"

func text(value string) types.MessageAttributeValue {
	return types.MessageAttributeValue{DataType: aws.String("String"), StringValue: &value}
}

func typed(kind, value string) types.MessageAttributeValue {
	return types.MessageAttributeValue{DataType: &kind, StringValue: &value}
}

func binary(value string) types.MessageAttributeValue {
	return types.MessageAttributeValue{DataType: aws.String("Binary"), BinaryValue: []byte(value)}
}

func TestMessageAttributes(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders", "VisibilityTimeout", "0")
		sent, err := b.SendMessage(b.ctx, &awssqs.SendMessageInput{QueueUrl: queue, MessageBody: aws.String("<a & b>\u2028"),
			MessageAttributes: map[string]types.MessageAttributeValue{
				"name": text("Ærøskøbing"), "price.eur": typed("Number.float", "-1.5e3"), "price.usd": typed("Number", "7"), "raw": binary("\x00\xff"),
			}})
		if err != nil {
			b.Fatal(err)
		}
		// Computed apart from this code, from the developer guide's description.
		if want := attributesDigest; *sent.MD5OfMessageAttributes != want {
			b.Errorf("MD5OfMessageAttributes %s, want %s", *sent.MD5OfMessageAttributes, want)
		}
		for _, tc := range []struct {
			ask  []string
			want string
		}{
			{nil, ""},
			{[]string{"All"}, "name price.eur price.usd raw"},
			{[]string{".*"}, "name price.eur price.usd raw"},
			{[]string{"price.*", "none"}, "price.eur price.usd"},
			{[]string{"raw", "raw"}, "raw"},
		} {
			m := b.one(queue, func(in *awssqs.ReceiveMessageInput) { in.MessageAttributeNames = tc.ask })
			var got []string
			for _, name := range []string{"name", "price.eur", "price.usd", "raw"} {
				if _, ok := m.MessageAttributes[name]; ok {
					got = append(got, name)
				}
			}
			if strings.Join(got, " ") != tc.want || *m.Body != "<a & b>\u2028" {
				b.Errorf("asked for %v: %v, body %q", tc.ask, got, *m.Body)
			}
			if (m.MD5OfMessageAttributes != nil) != (tc.want != "") {
				b.Errorf("asked for %v: MD5OfMessageAttributes %v", tc.ask, m.MD5OfMessageAttributes)
			}
			if len(got) == 4 && (*m.MD5OfMessageAttributes != attributesDigest || string(m.MessageAttributes["raw"].BinaryValue) != "\x00\xff") {
				b.Errorf("received %v with MD5 %s", m.MessageAttributes, *m.MD5OfMessageAttributes)
			}
		}
	})
}

// AWS took such a name, though its developer guide has A-Z and a-z.
func TestMessageAttributeNamesHaveLettersOfAnyScript(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders")
		_, err := b.SendMessage(b.ctx, &awssqs.SendMessageInput{QueueUrl: queue, MessageBody: aws.String("a"),
			MessageAttributes: map[string]types.MessageAttributeValue{"attr.1øßä": text("x")}})
		if err != nil {
			b.Fatal(err)
		}
		m := b.one(queue, func(in *awssqs.ReceiveMessageInput) { in.MessageAttributeNames = []string{"attr.1øßä"} })
		if len(m.MessageAttributes) != 1 {
			b.Errorf("received the attributes %v", m.MessageAttributes)
		}
	})
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

func TestMessageSizes(t *testing.T) {
	virtual(t, func(b *bench) {
		b.send(b.queue("large"), strings.Repeat("x", 1<<20))
		small := b.queue("small", "MaximumMessageSize", "1024")
		b.send(small, strings.Repeat("x", 1024))
		_, err := b.SendMessage(b.ctx, &awssqs.SendMessageInput{QueueUrl: small, MessageBody: aws.String(strings.Repeat("x", 1025))})
		b.wantCode(err, "InvalidParameterValue")
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

func TestBatches(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders")
		sent, err := b.SendMessageBatch(b.ctx, &awssqs.SendMessageBatchInput{QueueUrl: queue, Entries: []types.SendMessageBatchRequestEntry{
			{Id: aws.String("good"), MessageBody: aws.String("a")},
			{Id: aws.String("bad"), MessageBody: aws.String("\x00")},
			{Id: aws.String("late"), MessageBody: aws.String("b"), DelaySeconds: 5},
		}})
		if err != nil {
			b.Fatal(err)
		}
		if len(sent.Successful) != 2 || len(sent.Failed) != 1 {
			b.Fatalf("sent %+v", sent)
		}
		if f := sent.Failed[0]; *f.Id != "bad" || *f.Code != "InvalidMessageContents" || !f.SenderFault || *f.Message == "" {
			b.Errorf("failed %+v", f)
		}
		b.counts(queue, "1", "0", "1")
		time.Sleep(5 * time.Second)
		got := b.receive(queue)
		if bodies(got) != "a b" {
			b.Fatalf("received %q", bodies(got))
		}

		hidden, err := b.ChangeMessageVisibilityBatch(b.ctx, &awssqs.ChangeMessageVisibilityBatchInput{QueueUrl: queue, Entries: []types.ChangeMessageVisibilityBatchRequestEntry{
			{Id: aws.String("0"), ReceiptHandle: got[0].ReceiptHandle, VisibilityTimeout: 0},
			{Id: aws.String("1"), ReceiptHandle: aws.String("nonsense"), VisibilityTimeout: 1},
			{Id: aws.String("2"), ReceiptHandle: got[1].ReceiptHandle, VisibilityTimeout: 43_201},
		}})
		if err != nil {
			b.Fatal(err)
		}
		if len(hidden.Successful) != 1 || len(hidden.Failed) != 2 || *hidden.Failed[0].Code != "ReceiptHandleIsInvalid" || *hidden.Failed[1].Code != "InvalidParameterValue" {
			b.Errorf("changed %+v", hidden)
		}
		b.counts(queue, "1", "1", "0")

		deleted, err := b.DeleteMessageBatch(b.ctx, &awssqs.DeleteMessageBatchInput{QueueUrl: queue, Entries: []types.DeleteMessageBatchRequestEntry{
			{Id: aws.String("0"), ReceiptHandle: got[0].ReceiptHandle},
			{Id: aws.String("1"), ReceiptHandle: aws.String("nonsense")},
			{Id: aws.String("2"), ReceiptHandle: got[1].ReceiptHandle},
		}})
		if err != nil {
			b.Fatal(err)
		}
		if len(deleted.Successful) != 2 || len(deleted.Failed) != 1 || *deleted.Failed[0].Id != "1" {
			b.Errorf("deleted %+v", deleted)
		}
		b.counts(queue, "0", "0", "0")
	})
}

func TestBatchesThatFailAsAWhole(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders")
		entries := func(ids ...string) (all []types.SendMessageBatchRequestEntry) {
			for _, id := range ids {
				all = append(all, types.SendMessageBatchRequestEntry{Id: &id, MessageBody: aws.String("a")})
			}
			return all
		}
		send := func(entries []types.SendMessageBatchRequestEntry) error {
			_, err := b.SendMessageBatch(b.ctx, &awssqs.SendMessageBatchInput{QueueUrl: queue, Entries: entries})
			return err
		}
		wantType[*types.EmptyBatchRequest](b, send([]types.SendMessageBatchRequestEntry{}))
		wantType[*types.TooManyEntriesInBatchRequest](b, send(entries("0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10")))
		wantType[*types.BatchEntryIdsNotDistinct](b, send(entries("0", "0")))
		wantType[*types.InvalidBatchEntryId](b, send(entries("a b")))
		wantType[*types.InvalidBatchEntryId](b, send(entries(strings.Repeat("a", 81))))
		large := entries("0", "1")
		large[0].MessageBody, large[1].MessageBody = aws.String(strings.Repeat("x", 1<<19)), aws.String(strings.Repeat("x", 1<<19+1))
		wantType[*types.BatchRequestTooLong](b, send(large))
		small := sqs.New(sqs.Options{MaxBatchBytes: 256 << 10})
		defer func() { _ = small.Close() }()
		_, err := newClient(small).SendMessageBatch(b.ctx, &awssqs.SendMessageBatchInput{QueueUrl: queue, Entries: large[:1]})
		wantType[*types.BatchRequestTooLong](b, err)
		b.counts(queue, "0", "0", "0")
	})
}
