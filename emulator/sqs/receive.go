package sqs

import (
	"slices"
	"time"
)

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
		// The type of the older parameter also has names of queue attributes, which
		// messages do not have. They have no effect.
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
	return &receiveAnswer{in, deliveries}, nil
}

type receiveAnswer struct {
	request    *receiveRequest // says which attributes are wanted
	deliveries []delivery
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
