package sqs

import (
	"slices"
	"strconv"
	"time"
)

// senderID stands for the IAM id of the sender, whom the emulator does not check.
const senderID = "AIDAEMULATOR000000000"

type receiveRequest struct {
	queueRequest
	MaxNumberOfMessages         *int
	VisibilityTimeout           *int
	WaitTimeSeconds             *int
	MessageAttributeNames       []string
	AttributeNames              []string // the older name of MessageSystemAttributeNames
	MessageSystemAttributeNames []string
	ReceiveRequestAttemptID     *string `json:"ReceiveRequestAttemptId"`
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

var systemAttributeNames = []string{
	"All", "SqsManagedSseEnabled", "SenderId", "SentTimestamp", "ApproximateReceiveCount", "ApproximateFirstReceiveTimestamp",
	"SequenceNumber", "MessageDeduplicationId", "MessageGroupId", "AWSTraceHeader", "DeadLetterQueueSourceArn",
}

func (in *receiveRequest) check() *apiError {
	outside := func(value *int, low, high int) bool { return value != nil && (*value < low || *value > high) }
	switch {
	case outside(in.MaxNumberOfMessages, 1, maxBatch):
		return errValue(*in.MaxNumberOfMessages, "MaxNumberOfMessages", "Must be between 1 and 10, if provided.")
	case outside(in.WaitTimeSeconds, 0, 20):
		return errValue(*in.WaitTimeSeconds, "WaitTimeSeconds", "Must be >= 0 and <= 20, if provided.")
	case outside(in.VisibilityTimeout, 0, maxVisibilitySeconds):
		return errValue(*in.VisibilityTimeout, "VisibilityTimeout", "Must be between 0 and 43200, if provided.")
	case in.ReceiveRequestAttemptID != nil && !validToken(*in.ReceiveRequestAttemptID):
		return errToken(*in.ReceiveRequestAttemptID, "ReceiveRequestAttemptId")
	}
	for _, name := range in.MessageSystemAttributeNames {
		if !slices.Contains(systemAttributeNames, name) {
			return errUnknownAttribute(name)
		}
	}
	for _, name := range in.AttributeNames {
		// The older parameter's type has the names of queue attributes too; they
		// are no attributes of a message, and say nothing.
		if !slices.Contains(systemAttributeNames, name) && !isQueueAttribute(name) {
			return errUnknownAttribute(name)
		}
	}
	return nil
}

func (s *Server) receiveMessage(c *call, in *receiveRequest) (any, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	deliveries, err := s.receive(c, in)
	if err != nil {
		return nil, err
	}
	c.messages = len(deliveries)
	messages := make([]receivedMessage, len(deliveries))
	for i := range deliveries {
		messages[i] = deliveries[i].answer(in)
	}
	return struct {
		Messages []receivedMessage `json:",omitempty"`
	}{messages}, nil
}

// delivery is one receive of one message, as it was when it happened.
type delivery struct {
	message             *message // as it is now; needs the lock
	content             *content
	handle              string
	received            int
	sent, firstReceived time.Time
	sequence            uint64
	source              string
}

func (d *delivery) answer(in *receiveRequest) receivedMessage {
	chosen := chooseAttributes(d.content.attributes, in.MessageAttributeNames)
	return receivedMessage{
		MessageID:     d.content.id,
		ReceiptHandle: d.handle,
		Body:          d.content.body,
		MD5OfBody:     d.content.bodyMD5,
		Attributes:    d.systemAttributes(slices.Concat(in.AttributeNames, in.MessageSystemAttributeNames)),
		// The digest is of what is returned, so that the client can verify it.
		MD5OfMessageAttributes: attributesMD5(chosen),
		MessageAttributes:      chosen,
	}
}

func (d *delivery) systemAttributes(names []string) map[string]string {
	if len(names) == 0 {
		return nil
	}
	all := slices.Contains(names, "All")
	chosen := map[string]string{}
	add := func(name, value string) {
		if value != "" && (all || slices.Contains(names, name)) {
			chosen[name] = value
		}
	}
	add("SenderId", senderID)
	add("SentTimestamp", strconv.FormatInt(d.sent.UnixMilli(), 10))
	add("ApproximateReceiveCount", strconv.Itoa(d.received))
	add("ApproximateFirstReceiveTimestamp", strconv.FormatInt(d.firstReceived.UnixMilli(), 10))
	add("SequenceNumber", sequenceNumber(d.sequence))
	add("MessageDeduplicationId", d.content.deduplicationID)
	add("MessageGroupId", d.content.groupID)
	add("AWSTraceHeader", d.content.traceHeader)
	add("DeadLetterQueueSourceArn", d.source)
	return chosen
}
