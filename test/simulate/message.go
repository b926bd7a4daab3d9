package simulate

import (
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// body is the message's text, different for each. It holds what is easily
// changed on the way: escapes, spaces, characters that JSON encoders escape,
// and others that take several bytes.
func (m Message) body() string {
	text := fmt.Sprintf(`{ "n":%d, "note":"\u0041\/ <&> \u2028 é 😀 \\ \"" }`, m.Number)
	if m.Malformed {
		return text[:len(text)-3] // the string does not end
	}
	return text + "\n"
}

// attributes are the message's own: strings, numbers and bytes in turn.
func (m Message) attributes() map[string]types.MessageAttributeValue {
	if m.Attributes == 0 {
		return nil
	}
	list := make(map[string]types.MessageAttributeValue, m.Attributes)
	for i := range m.Attributes {
		name := "attribute-" + strconv.Itoa(i)
		switch i % 3 {
		case 0:
			list[name] = types.MessageAttributeValue{DataType: aws.String("String.note"), StringValue: aws.String("<é> \" " + strconv.Itoa(m.Number))}
		case 1:
			list[name] = types.MessageAttributeValue{DataType: aws.String("Number"), StringValue: aws.String("1.50")}
		default:
			list[name] = types.MessageAttributeValue{DataType: aws.String("Binary"), BinaryValue: []byte{0, 0xff, byte(m.Number)}}
		}
	}
	return list
}

// trace is the message's X-Ray header; "" for none.
func (m Message) trace() string {
	if !m.Trace {
		return ""
	}
	return fmt.Sprintf("Root=1-5759e988-%024x;Sampled=1", m.Number)
}

// plain makes attributes comparable.
func plain(attributes map[string]types.MessageAttributeValue) map[string]string {
	list := make(map[string]string, len(attributes))
	for name, a := range attributes {
		list[name] = aws.ToString(a.DataType) + " " + aws.ToString(a.StringValue) + string(a.BinaryValue)
	}
	return list
}

func (m Message) entry(id int, fifo bool) types.SendMessageBatchRequestEntry {
	e := types.SendMessageBatchRequestEntry{
		Id:                aws.String(strconv.Itoa(id)),
		MessageBody:       aws.String(m.body()),
		MessageAttributes: m.attributes(),
		DelaySeconds:      int32(m.Delay.Seconds()),
	}
	if header := m.trace(); header != "" {
		e.MessageSystemAttributes = map[string]types.MessageSystemAttributeValue{
			string(types.MessageSystemAttributeNameForSendsAWSTraceHeader): {DataType: aws.String("String"), StringValue: &header},
		}
	}
	if m.Group != "" {
		e.MessageGroupId = &m.Group
	}
	if fifo {
		e.MessageDeduplicationId = aws.String("dedup-" + strconv.Itoa(m.Number))
	}
	return e
}

// dead is a message as it was found in a dead-letter queue.
func dead(queue string, m types.Message) DeadMessage {
	d := DeadMessage{Queue: queue, Body: aws.ToString(m.Body), Group: m.Attributes["MessageGroupId"], Trace: m.Attributes["AWSTraceHeader"], Attributes: plain(m.MessageAttributes)}
	if o, err := partialfailure.ParseOrigin(aws.ToString(m.MessageAttributes[partialfailure.OriginAttribute].StringValue)); err == nil {
		d.Origin = o.MessageID
	}
	delete(d.Attributes, partialfailure.OriginAttribute)
	return d
}
