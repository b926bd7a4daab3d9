package sns_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/envelope/sns"
)

// published is a message as SNS puts it into a queue, on a FIFO topic.
const published = `{
  "Type" : "Notification",
  "MessageId" : "63a3f6b6-d533-4a47-aef9-fcf5cf758c76",
  "SequenceNumber" : "10000000000000005000",
  "TopicArn" : "arn:aws:sns:eu-west-1:123456789012:orders.fifo",
  "Subject" : "an order",
  "Message" : "{\"id\":\"o-1\"}",
  "Timestamp" : "2026-11-21T05:12:16.901Z",
  "SignatureVersion" : "1",
  "Signature" : "EXAMPLE",
  "SigningCertURL" : "https://sns.eu-west-1.amazonaws.com/x.pem",
  "UnsubscribeURL" : "https://sns.eu-west-1.amazonaws.com/?Action=Unsubscribe",
  "MessageAttributes" : {
    "kind" : {"Type":"String","Value":"rush"},
    "sizes" : {"Type":"String.Array","Value":"[1,2]"},
    "key" : {"Type":"Binary","Value":"AAH/"}
  }
}`

type got struct {
	called       bool
	record       batch.Record
	notification sns.Notification
	enveloped    bool
}

func (g *got) Handle(ctx context.Context, r batch.Record) error {
	g.called = true
	g.record, _ = batch.RecordFrom(ctx)
	g.notification, g.enveloped = sns.From(ctx)
	if g.record.Body != r.Body || g.record.MessageID != r.MessageID || len(g.record.MessageAttributes) != len(r.MessageAttributes) {
		return errors.New("RecordFrom gives another record")
	}
	return nil
}

func handle(t *testing.T, r batch.Record) (got, error) {
	t.Helper()
	var g got
	err := sns.Unwrap(&g).Handle(batch.WithRecord(t.Context(), r), r)
	return g, err
}

func TestUnwrap(t *testing.T) {
	shared := map[string]batch.MessageAttribute{"relay": {DataType: "String", StringValue: "r-1"}, "kind": {DataType: "String", StringValue: "relayed"}}
	before := maps.Clone(shared)
	r := batch.Record{MessageID: "m-1", ReceiptHandle: "h", Body: published, Attempt: 2, GroupID: "g", MD5OfBody: "x", MD5OfMessageAttributes: "y", MessageAttributes: shared}
	g, err := handle(t, r)
	if err != nil || !g.called {
		t.Fatal(err)
	}
	if g.record.Body != `{"id":"o-1"}` || g.record.MessageID != "m-1" || g.record.ReceiptHandle != "h" || g.record.Attempt != 2 ||
		g.record.GroupID != "g" || g.record.MD5OfBody != "" || g.record.MD5OfMessageAttributes != "" {
		t.Errorf("record %+v", g.record)
	}
	want := sns.Notification{MessageID: "63a3f6b6-d533-4a47-aef9-fcf5cf758c76", TopicARN: "arn:aws:sns:eu-west-1:123456789012:orders.fifo",
		Subject: "an order", Timestamp: time.Date(2026, 11, 21, 5, 12, 16, 901e6, time.UTC), SequenceNumber: "10000000000000005000"}
	if g.notification != want || !g.enveloped {
		t.Errorf("notification %+v, want %+v", g.notification, want)
	}
	a := g.record.MessageAttributes
	if len(a) != 4 || a["relay"].StringValue != "r-1" || a["kind"].StringValue != "rush" || a["kind"].DataType != "String" ||
		a["sizes"].DataType != "String.Array" || a["sizes"].StringValue != "[1,2]" || string(a["key"].BinaryValue) != "\x00\x01\xff" || a["key"].StringValue != "" {
		t.Errorf("attributes %+v", a)
	}
	for name := range shared {
		if len(shared) != len(before) || shared[name].StringValue != before[name].StringValue {
			t.Errorf("the SQS message's own attributes were changed: %+v", shared)
		}
	}
}

const topic = `"TopicArn":"arn:aws:sns:eu-west-1:1:t"`

func TestWhatIsAnEnvelope(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		want string // the body that the function gets; "" when none reaches it
	}{
		"SNS's members only": {`{"Type":"Notification","MessageId":"n",` + topic + `,"Message":"hello"}`, "hello"},
		"in another order":   {`{"Message":"hello",` + topic + `,"MessageId":"n","Type":"Notification"}`, "hello"},
		"China":              {`{"Type":"Notification","MessageId":"n","TopicArn":"arn:aws-cn:sns:cn-north-1:1:t","Message":"hello"}`, "hello"},
		"escapes":            {`{"Type":"Notification","MessageId":"n",` + topic + `,"Message":"\u00e9 \ud83d\udce6\n"}`, "é 📦\n"},
		"new members":        {`{"Type":"Notification","MessageId":"n",` + topic + `,"Message":"hello","Later":[1,{"a":null}]}`, "hello"},
		"null subject":       {`{"Type":"Notification","MessageId":"n",` + topic + `,"Message":"hello","Subject":null,"MessageAttributes":null}`, "hello"},
		"an empty message":   {` {"Type":"Notification","MessageId":"n",` + topic + `,"Message":"","Timestamp":""}`, "(empty)"},

		"an order":                   {`{"id":"o-1"}`, "(same)"},
		"text":                       {`hello`, "(same)"},
		"nothing":                    {``, "(empty)"},
		"an order with Type":         {`{"Type":"Notification","Message":"ship it"}`, "(same)"},
		"an order of a topic":        {`{"Type":"Notification","MessageId":"n","TopicArn":"orders","Message":"ship it"}`, "(same)"},
		"a topic of another service": {`{"Type":"Notification","MessageId":"n","TopicArn":"arn:aws:sqs:eu-west-1:1:t","Message":"x"}`, "(same)"},
		"another Type":               {`{"Type":"Order","MessageId":"n",` + topic + `,"Message":"x"}`, "(same)"},
		"no id":                      {`{"Type":"Notification","MessageId":"",` + topic + `,"Message":"x"}`, "(same)"},
		"Type is a number":           {`{"Type":7,"MessageId":"n",` + topic + `,"Message":"x"}`, "(same)"},
		"an envelope in a field":     {`{"audit":{"Type":"Notification","MessageId":"n",` + topic + `,"Message":"x"}}`, "(same)"},
		"a list of envelopes":        {`[{"Type":"Notification","MessageId":"n",` + topic + `,"Message":"x"}]`, "(same)"},
		"no JSON":                    {`{"TopicArn" "MessageId" "Type"`, "(same)"},
	} {
		g, err := handle(t, batch.Record{Body: c.body})
		want, raw := c.want, false
		switch want {
		case "(same)":
			want, raw = c.body, true
		case "(empty)":
			want, raw = "", c.body == ""
		}
		if err != nil || !g.called || g.record.Body != want || g.enveloped == raw {
			t.Errorf("%s: called %v with %q, in an envelope %v; %v; want %q", name, g.called, g.record.Body, g.enveloped, err, want)
		}
	}
}

func TestMalformedEnvelope_IsRefusedAndNotQuoted(t *testing.T) {
	const canary = "swordfish"
	inner := `{\"Type\":\"Notification\",\"MessageId\":\"n\",\"TopicArn\":\"arn:aws:sns:eu-west-1:1:t\",\"Message\":\"` + canary + `\"}`
	for name, c := range map[string]struct{ body, want string }{
		"a subscription":            {`{"Type":"SubscriptionConfirmation","MessageId":"n","Token":"` + canary + `",` + topic + `,"Message":"` + canary + `"}`, "Open its SubscribeURL"},
		"the end of a subscription": {`{"Type":"UnsubscribeConfirmation","MessageId":"n",` + topic + `,"Message":"` + canary + `"}`, "a subscription was deleted"},
		"no message":                {`{"Type":"Notification","MessageId":"n",` + topic + `,"Subject":"` + canary + `"}`, "has no Message"},
		"null message":              {`{"Type":"Notification","MessageId":"n",` + topic + `,"Subject":"` + canary + `","Message":null}`, "has no Message"},
		"the message is an object":  {`{"Type":"Notification","MessageId":"n",` + topic + `,"Message":{"id":"` + canary + `"}}`, `field "Message": a JSON object does not go into string`},
		"cut off":                   {`{"Type":"Notification","MessageId":"n",` + topic + `,"Message":"` + canary, "not valid JSON at offset"},
		"cut off early":             {` { "Type" : "Notification" , "MessageId":"` + canary, "not valid JSON at offset"},
		"two":                       {`{"Type":"Notification","MessageId":"n",` + topic + `,"Message":"` + canary + `"}{}`, "not valid JSON at offset"},
		"no base64":                 {`{"Type":"Notification","MessageId":"n",` + topic + `,"Message":"x","MessageAttributes":{"key":{"Type":"Binary","Value":"*` + canary + `"}}}`, "the value of one of the MessageAttributes is not base64"},
		"an attribute is a number":  {`{"Type":"Notification","MessageId":"n",` + topic + `,"Message":"` + canary + `","MessageAttributes":{"key":{"Type":"Number","Value":7}}}`, `field "MessageAttributes.Value"`},
		"no time":                   {`{"Timestamp":"` + canary + `","Type":"Notification","MessageId":"n",` + topic + `,"Message":"x"}`, "Timestamp is not a valid time"},
		"in another":                {`{"Type":"Notification","MessageId":"n",` + topic + `,"Message":"` + inner + `"}`, "an SNS envelope in an SNS envelope"},
		"a part in another":         {`{"Type":"Notification","MessageId":"n",` + topic + `,"Message":"` + inner[:60] + `"}`, "an SNS envelope in an SNS envelope"},
		"deep":                      {`{"Type":"Notification","MessageId":"n",` + topic + `,"Message":"` + canary + `","x":` + strings.Repeat("[", 100_000), "JSON nested too deeply"},
	} {
		g, err := handle(t, batch.Record{Body: c.body})
		var malformed *batch.MalformedError
		if !errors.As(err, &malformed) || !strings.Contains(err.Error(), c.want) || g.called || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: called %v, %v, want %q in it", name, g.called, err, c.want)
		}
	}
}

// Two envelopes, one in another, can be opened; From shows the inner one.
func TestTwoEnvelopes(t *testing.T) {
	body := `{"Type":"Notification","MessageId":"outer",` + topic + `,"Message":"{\"Type\":\"Notification\",\"MessageId\":\"inner\",\"TopicArn\":\"arn:aws:sns:eu-west-1:1:u\",\"Message\":\"hello\"}"}`
	var g got
	r := batch.Record{Body: body}
	err := sns.Unwrap(sns.Unwrap(&g)).Handle(batch.WithRecord(t.Context(), r), r)
	if err != nil || g.record.Body != "hello" || g.notification.MessageID != "inner" {
		t.Errorf("%+v, %v", g, err)
	}
}

func TestNoHandlerStaysNone(t *testing.T) {
	if sns.Unwrap(nil) != nil || sns.Unwrap(batch.HandlerFunc(nil)) != nil || sns.Unwrap(batch.JSON[int](nil)) != nil {
		t.Error("there is a handler of none")
	}
	if _, ok := sns.From(t.Context()); ok {
		t.Error("From finds a notification where there is none")
	}
	if n, ok := sns.From(sns.With(t.Context(), sns.Notification{Subject: "s"})); !ok || n.Subject != "s" {
		t.Error("With's notification is not found")
	}
}
