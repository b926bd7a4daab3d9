package sqs

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/sqsbatch/sqsbatch/internal/plainjson"
)

// plainAnswer is an answer, or a part of one, with its own JSON encoder, for the most frequent
// answers. encoding/json writes the others.
type plainAnswer interface{ appendJSON([]byte) []byte }

// encode returns an answer as JSON without HTML escaping, so that texts keep their characters.
func encode(answer any) []byte {
	if plain, ok := answer.(plainAnswer); ok {
		return plain.appendJSON(make([]byte, 0, 1024))
	}
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(answer) // strings, numbers and statements that were read always encode
	return bytes.TrimSuffix(body.Bytes(), []byte("\n"))
}

func (nothing) appendJSON(b []byte) []byte { return b }

func (a *sendAnswer) appendJSON(b []byte) []byte {
	b = append(b, '{')
	b = appendOptional(b, "Id", a.id)
	b = appendMember(b, "MessageId", a.messageID)
	b = appendMember(b, "MD5OfMessageBody", a.bodyMD5)
	b = appendOptional(b, "MD5OfMessageAttributes", a.attributesMD5)
	b = appendOptional(b, "MD5OfMessageSystemAttributes", a.systemAttributesMD5)
	b = appendOptional(b, "SequenceNumber", a.sequenceNumber)
	return append(b, '}')
}

func (id batchID) appendJSON(b []byte) []byte {
	return append(appendMember(append(b, '{'), "Id", string(id)), '}')
}

func (a *batchAnswer) appendJSON(b []byte) []byte {
	b = append(b, `{"Successful":[`...)
	for i, result := range a.successful {
		if i > 0 {
			b = append(b, ',')
		}
		b = result.appendJSON(b)
	}
	b = append(b, ']')
	if len(a.failed) > 0 {
		b = append(appendName(b, "Failed"), '[')
		for i, f := range a.failed {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendMember(append(b, '{'), "Id", f.id)
			b = strconv.AppendBool(appendName(b, "SenderFault"), f.err.senderFault())
			b = appendMember(b, "Code", f.err.batchCode())
			b = append(appendMember(b, "Message", f.err.message), '}')
		}
		b = append(b, ']')
	}
	return append(b, '}')
}

func (a *receiveAnswer) appendJSON(b []byte) []byte {
	b = append(b, '{')
	if len(a.deliveries) > 0 {
		b = append(appendName(b, "Messages"), '[')
		for i := range a.deliveries {
			if i > 0 {
				b = append(b, ',')
			}
			b = a.deliveries[i].appendJSON(b, a.request)
		}
		b = append(b, ']')
	}
	return append(b, '}')
}

func (d *delivery) appendJSON(b []byte, in *receiveRequest) []byte {
	b = appendMember(append(b, '{'), "MessageId", d.content.id)
	b = appendMember(b, "ReceiptHandle", d.handle)
	b = appendMember(b, "MD5OfBody", d.content.bodyMD5)
	b = appendMember(b, "Body", d.content.body)
	b = d.appendSystemAttributes(b, in)
	if chosen := chooseAttributes(d.content.attributes, in.MessageAttributeNames); len(chosen) > 0 {
		// The digest of the returned attributes, which the client verifies.
		b = appendMember(b, "MD5OfMessageAttributes", attributesMD5(chosen))
		b = append(appendName(b, "MessageAttributes"), encode(chosen)...)
	}
	return append(b, '}')
}

// senderID is the IAM id of every sender, since the emulator does not check credentials.
const senderID = "AIDAEMULATOR000000000"

func (d *delivery) appendSystemAttributes(b []byte, in *receiveRequest) []byte {
	wanted := func(name string) bool {
		return slices.Contains(in.AttributeNames, name) || slices.Contains(in.MessageSystemAttributeNames, name)
	}
	all, start := wanted("All"), len(b)
	b = append(appendName(b, "Attributes"), '{')
	empty := len(b)
	add := func(name, value string) {
		if value != "" && (all || wanted(name)) {
			b = appendMember(b, name, value)
		}
	}
	addNumber := func(name string, value int64) {
		if all || wanted(name) {
			b = append(strconv.AppendInt(append(appendName(b, name), '"'), value, 10), '"')
		}
	}
	add("SenderId", senderID)
	addNumber("SentTimestamp", d.sent.UnixMilli())
	addNumber("ApproximateReceiveCount", int64(d.received))
	addNumber("ApproximateFirstReceiveTimestamp", d.firstReceived.UnixMilli())
	add("SequenceNumber", sequenceNumber(d.sequence))
	add("MessageDeduplicationId", d.content.deduplicationID)
	add("MessageGroupId", d.content.groupID)
	add("AWSTraceHeader", d.content.traceHeader)
	add("DeadLetterQueueSourceArn", d.source)
	if len(b) == empty {
		return b[:start]
	}
	return append(b, '}')
}

// appendName appends a member's name to an open object.
func appendName(b []byte, name string) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	b = append(append(b, '"'), name...)
	return append(b, `":`...)
}

func appendMember(b []byte, name, value string) []byte {
	return plainjson.AppendString(appendName(b, name), value)
}

// appendOptional appends a member unless it is empty.
func appendOptional(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	return appendMember(b, name, value)
}
