package sender_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/batch"
	internal "github.com/sqsbatch/sqsbatch/internal/attribute"
	"github.com/sqsbatch/sqsbatch/sender"
)

func attribute(name string, a batch.MessageAttribute) sender.Message {
	return sender.Message{Body: "x", Attributes: map[string]batch.MessageAttribute{name: a}}
}

func text(value string) batch.MessageAttribute {
	return batch.MessageAttribute{DataType: "String", StringValue: value}
}

func many(n int) map[string]batch.MessageAttribute {
	all := map[string]batch.MessageAttribute{}
	for i := range n {
		all[fmt.Sprint("a", i)] = text("v")
	}
	return all
}

// invalid are messages for a standard queue, by the field that is wrong.
var invalid = []struct {
	field   string
	message sender.Message
}{
	{"Body", sender.Text("")},
	{"Body", sender.Text(strings.Repeat("b", 1<<20+1))},
	{"Body", sender.Message{Body: strings.Repeat("b", 1<<20-11), Attributes: map[string]batch.MessageAttribute{"name": text("sv")}}},
	{"Body", sender.Text("a\x00b")},
	{"Body", sender.Text("\uFFFE")},
	{"Attributes", sender.Message{Body: "x", Attributes: many(11)}},
	{"Attributes[]", attribute("", text("v"))},
	{"Attributes[a b]", attribute("a b", text("v"))},
	{"Attributes[.a]", attribute(".a", text("v"))},
	{"Attributes[a.]", attribute("a.", text("v"))},
	{"Attributes[a..b]", attribute("a..b", text("v"))},
	{"Attributes[AWS.x]", attribute("AWS.x", text("v"))},
	{"Attributes[amazon.x]", attribute("amazon.x", text("v"))},
	{"Attributes[a]", attribute("a", text(""))},
	{"Attributes[a]", attribute("a", text("\x01"))},
	{"Attributes[a]", attribute("a", batch.MessageAttribute{StringValue: "v"})},
	{"Attributes[a]", attribute("a", batch.MessageAttribute{DataType: "Text", StringValue: "v"})},
	{"Attributes[a]", attribute("a", batch.MessageAttribute{DataType: "Binary"})},
	{"Attributes[a]", attribute("a", batch.MessageAttribute{DataType: "Binary", StringValue: "v", BinaryValue: []byte("v")})},
	{"Attributes[a]", attribute("a", batch.MessageAttribute{DataType: "String", StringValue: "v", BinaryValue: []byte("v")})},
	{"Group", sender.Message{Body: "x", Group: "a b"}},
	{"Group", sender.Message{Body: "x", Group: strings.Repeat("g", 129)}},
	{"DeduplicationID", sender.Message{Body: "x", DeduplicationID: "id"}},
	{"Delay", sender.Message{Body: "x", Delay: 15*time.Minute + 1}},
	{"TraceHeader", sender.Message{Body: "x", TraceHeader: "\x01"}},
}

// wrongField is the field that a MessageError names; "" for another error.
func wrongField(err error) string {
	if wrong, is := errors.AsType[*sender.MessageError](err); is {
		return wrong.Field
	}
	return ""
}

func TestInvalidMessage_FailsAloneAndNamesItsField(t *testing.T) {
	inWorld(t, false, func(w *world) {
		s := w.sender(sender.Config{Linger: time.Second})
		w.enqueue(s, sender.Text("before"), nil)
		for i, c := range append(invalid, struct {
			field   string
			message sender.Message
		}{"Body", sender.Text("\xff")}) {
			if err := s.Send(w.Context(), c.message); wrongField(err) != c.field {
				w.Errorf("message %d: got %v, want an error about %s", i, err, c.field)
			}
			if err := s.Enqueue(w.Context(), c.message, func(sender.Result) { w.Error("done was called") }); wrongField(err) != c.field {
				w.Errorf("message %d: Enqueue: %v", i, err)
			}
		}
		w.send(s, sender.Text("after"))
		w.wantSent(2)
	})
}

// The sender's rules are those of SQS: what it refuses, the emulator refuses too.
func TestInvalidMessage_IsOneThatSQSRefuses(t *testing.T) {
	inWorld(t, false, func(w *world) {
		for i, c := range invalid {
			m := c.message
			in := &awssqs.SendMessageInput{
				QueueUrl: aws.String(w.server.QueueURL(w.name)), MessageBody: &m.Body, MessageSystemAttributes: internal.Trace(m.TraceHeader),
			}
			if m.Group != "" {
				in.MessageGroupId = &m.Group
			}
			if m.DeduplicationID != "" {
				in.MessageDeduplicationId = &m.DeduplicationID
			}
			if m.Delay > 0 {
				in.DelaySeconds = int32(m.Delay/time.Second) + 1
			}
			in.MessageAttributes = map[string]types.MessageAttributeValue{}
			for name, a := range m.Attributes {
				value := types.MessageAttributeValue{DataType: &a.DataType, BinaryValue: a.BinaryValue}
				if a.StringValue != "" {
					value.StringValue = &a.StringValue
				}
				in.MessageAttributes[name] = value
			}
			if _, err := w.client.SendMessage(w.Context(), in); err == nil {
				w.Errorf("message %d, whose %s is wrong for the sender: SQS takes it", i, c.field)
			}
		}
	})
}

func TestFIFO_InvalidMessages(t *testing.T) {
	inWorld(t, true, func(w *world) {
		s := w.sender(sender.Config{})
		for field, m := range map[string]sender.Message{
			"Group":           sender.Text("x"),
			"DeduplicationID": {Body: "x", Group: "g", DeduplicationID: "ä"},
			"Delay":           {Body: "x", Group: "g", Delay: time.Second},
		} {
			if err := s.Send(w.Context(), m); wrongField(err) != field {
				w.Errorf("got %v, want an error about %s", err, field)
			}
		}
	})
}

func TestJSON_AnErrorIsThatOfTheMessage(t *testing.T) {
	inWorld(t, false, func(w *world) {
		err := w.sender(sender.Config{}).Send(w.Context(), sender.JSON(make(chan int)))
		if _, is := errors.AsType[*json.UnsupportedTypeError](err); !is || !strings.Contains(err.Error(), "Body cannot be encoded") {
			w.Errorf("got %v", err)
		}
	})
}
