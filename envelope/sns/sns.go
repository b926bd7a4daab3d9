// Package sns takes messages out of the envelopes in which Amazon SNS delivers them to a
// queue that is subscribed to a topic:
//
//	handler.Run(sns.Unwrap(batch.JSON(shipOrder)))
//
// The function gets what was published: the message as its body, and the publisher's
// message attributes. It works with and without raw message delivery, so you can switch
// that on at any time. To get the subject and the topic, call From:
//
//	n, ok := sns.From(ctx) // false for a message that was delivered raw
//
// Envelopes may be nested. For S3 notifications that come through a topic use
// sns.Unwrap(s3event.Each(importObject)); for events of EventBridge
// sns.Unwrap(eventbridge.JSON(shipOrder)).
//
// Signatures are not verified: the queue's policy decides who may send to it. Logs, metrics
// and traces see the SQS message. So W3C headers in the publisher's attributes link its
// span only with raw message delivery.
//
// See "Fanout Amazon SNS notifications to Amazon SQS queues" and "Amazon SNS raw message
// delivery" in the Amazon SNS Developer Guide.
package sns

import (
	"context"
	"maps"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/valuectx"
	"github.com/sqsbatch/sqsbatch/internal/wrapped"
)

// Unwrap passes on the message in an SNS envelope. It passes on any other body unchanged,
// since such a message was delivered raw, or was not sent by SNS.
//
// An envelope is a JSON object with the three members that SNS always writes: Type with one
// of its values, MessageId, and TopicArn with the ARN of a topic. A body of your own that
// only has a field Type or Message is not an envelope.
//
// The record that h gets, also from [batch.RecordFrom], has the publisher's
// MessageAttributes added to those of the SQS message. It has no MD5 digests, since SQS's
// are those of the envelope. Its id, attempt and everything else are those of the SQS
// message.
//
// An envelope is malformed (see [batch.MalformedError]) if it is cut off, has no Message,
// confirms a subscription, or contains another envelope. To open nested envelopes, use
// Unwrap twice.
//
// Unwrap returns nil if h is nil.
func Unwrap(h batch.Handler) batch.Handler {
	if wrapped.IsNil(h) {
		return nil
	}
	_, nested := h.(*unwrapper)
	return &unwrapper{h, nested}
}

// Notification has what SNS says about a message in addition to its text and attributes,
// which are in the record. Unlike events.SNSEntity of aws-lambda-go it has the sequence
// number.
type Notification struct {
	// MessageID is SNS's id of the message, the same for all subscribers.
	MessageID string
	// TopicARN is the topic to which it was published.
	TopicARN string
	// Subject is the subject that the publisher set. Usually empty.
	Subject string
	// Timestamp is when it was published.
	Timestamp time.Time
	// SequenceNumber is set only by FIFO topics.
	SequenceNumber string
}

// From returns what SNS says about ctx's message, from the innermost envelope. It returns
// false for a message that was delivered raw, and outside [Unwrap].
func From(ctx context.Context) (Notification, bool) {
	if n, ok := ctx.Value(key{}).(*Notification); ok {
		return *n, true
	}
	return Notification{}, false
}

type key struct{}

// With returns a context from which [From] returns n, for tests of functions.
func With(ctx context.Context, n Notification) context.Context {
	return valuectx.With(ctx, key{}, &n)
}

type unwrapper struct {
	next   batch.Handler
	nested bool // next opens envelopes, too
}

func (u *unwrapper) Validate() error { return wrapped.Validate(u.next) }

func (u *unwrapper) Handle(ctx context.Context, r batch.Record) error {
	e, reason, err := open(r.Body)
	switch {
	case reason != "":
	case e == nil:
		return u.next.Handle(ctx, r)
	case !u.nested && isEnvelope(*e.Message):
		reason = "an SNS envelope in an SNS envelope: sns.Unwrap(sns.Unwrap(…)) opens both"
	}
	if reason != "" {
		return &batch.MalformedError{Reason: reason, Err: err}
	}
	r.Body, r.MD5OfBody, r.MD5OfMessageAttributes = *e.Message, "", ""
	if len(e.attributes) > 0 {
		attributes := maps.Collect(maps.All(r.MessageAttributes)) // the map is shared with the SQS message's record
		maps.Copy(attributes, e.attributes)
		r.MessageAttributes = attributes
	}
	return u.next.Handle(batch.WithRecord(With(ctx, e.Notification), r), r)
}
