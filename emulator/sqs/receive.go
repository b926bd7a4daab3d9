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
	ReceiveRequestAttemptID     string `json:"ReceiveRequestAttemptId"`
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
	"All", "SenderId", "SentTimestamp", "ApproximateReceiveCount", "ApproximateFirstReceiveTimestamp",
	"SequenceNumber", "MessageDeduplicationId", "MessageGroupId", "AWSTraceHeader", "DeadLetterQueueSourceArn",
}

func (in *receiveRequest) check() *apiError {
	bounds := func(value *int, name string, low, high int) *apiError {
		if value != nil && (*value < low || *value > high) {
			return errValue(*value, name, "Must be between "+strconv.Itoa(low)+" and "+strconv.Itoa(high)+", if provided.")
		}
		return nil
	}
	if err := bounds(in.MaxNumberOfMessages, "MaxNumberOfMessages", 1, maxBatch); err != nil {
		return err
	}
	if err := bounds(in.WaitTimeSeconds, "WaitTimeSeconds", 0, 20); err != nil {
		return err
	}
	if err := bounds(in.VisibilityTimeout, "VisibilityTimeout", 0, maxVisibilitySeconds); err != nil {
		return err
	}
	for _, name := range slices.Concat(in.AttributeNames, in.MessageSystemAttributeNames) {
		if !slices.Contains(systemAttributeNames, name) {
			return errUnknownAttribute(name)
		}
	}
	if in.ReceiveRequestAttemptID != "" && !validToken(in.ReceiveRequestAttemptID) {
		return errToken(in.ReceiveRequestAttemptID, "ReceiveRequestAttemptId")
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
