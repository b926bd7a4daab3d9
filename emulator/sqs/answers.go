package sqs

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
)

// encode is an operation's answer as JSON. Operations that have none answer with
// an empty body.
func encode(answer any) ([]byte, error) {
	if _, none := answer.(nothing); none {
		return nil, nil
	}
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(answer)
	return body.Bytes(), err
}

type receiveAnswer struct {
	Messages []receivedMessage `json:",omitempty"`
}

type receivedMessage struct {
	MessageID              string `json:"MessageId"`
	ReceiptHandle          string
	MD5OfBody              string
	Body                   string
	Attributes             map[string]string         `json:",omitempty"`
	MD5OfMessageAttributes string                    `json:",omitempty"`
	MessageAttributes      map[string]attributeValue `json:",omitempty"`
}

// received is a delivery as the request asks for it.
func (d *delivery) received(in *receiveRequest) receivedMessage {
	chosen := chooseAttributes(d.content.attributes, in.MessageAttributeNames)
	return receivedMessage{
		MessageID: d.content.id, ReceiptHandle: d.handle, MD5OfBody: d.content.bodyMD5, Body: d.content.body,
		Attributes: d.systemAttributes(in),
		// The digest is of what is returned, so that the client can verify it.
		MD5OfMessageAttributes: attributesMD5(chosen), MessageAttributes: chosen,
	}
}

// senderID stands for the IAM id of the sender, whom the emulator does not check.
const senderID = "AIDAEMULATOR000000000"

func (d *delivery) systemAttributes(in *receiveRequest) map[string]string {
	wanted := func(name string) bool {
		return slices.Contains(in.AttributeNames, name) || slices.Contains(in.MessageSystemAttributeNames, name)
	}
	all, attributes := wanted("All"), map[string]string{}
	add := func(name, value string) {
		if value != "" && (all || wanted(name)) {
			attributes[name] = value
		}
	}
	add("SenderId", senderID)
	add("SentTimestamp", strconv.FormatInt(d.sent.UnixMilli(), 10))
	add("ApproximateReceiveCount", strconv.Itoa(d.count))
	add("ApproximateFirstReceiveTimestamp", strconv.FormatInt(d.firstReceived.UnixMilli(), 10))
	add("SequenceNumber", sequenceNumber(d.sequence))
	add("MessageDeduplicationId", d.content.deduplicationID)
	add("MessageGroupId", d.content.groupID)
	add("AWSTraceHeader", d.content.traceHeader)
	add("DeadLetterQueueSourceArn", d.source)
	return attributes
}
