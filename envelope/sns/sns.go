// Package sns takes messages out of the envelopes in which Amazon SNS puts
// them for a queue that is subscribed to a topic:
//
//	handler.Run(sns.Unwrap(batch.JSON(shipOrder)))
//
// The function gets what was published: its body is the message, and its message
// attributes are those of the publisher, as if the subscription delivered raw. It
// does not change when raw message delivery is switched on. Subject and topic
// are asked for where they are needed:
//
//	n, ok := sns.From(ctx) // false for a message that was delivered raw
//
// Envelopes are opened one inside another: S3 notifications by way of a topic are
// sns.Unwrap(s3event.Each(importObject)), events of EventBridge
// sns.Unwrap(eventbridge.JSON(shipOrder)).
//
// Signatures are not verified: who may send to a queue is what its policy says.
// Logs, metrics and traces are told of the SQS message: W3C headers that a
// publisher put into attributes link its span only where delivery is raw.
//
// See "Fanout Amazon SNS notifications to Amazon SQS queues" and "Amazon SNS raw
// message delivery" in the Amazon SNS Developer Guide.
package sns

import (
	"context"
	"maps"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/valuectx"
	"github.com/sqsbatch/sqsbatch/internal/wrapped"
)

// Unwrap hands on the message in an SNS envelope, and a body that is no such
// envelope as it is: it was delivered raw, or sent to the queue by someone else.
//
// An envelope is a JSON object with the three members that SNS always writes:
// Type with one of its values, MessageId, and TopicArn with the ARN of a topic. A
// body of one's own that has a field Type or Message is none.
//
// The record that h gets has the publisher's MessageAttributes, added to those
// that the SQS message has; [batch.RecordFrom] gives it, too. It has no MD5, since
// SQS's are of the envelope. Id, attempt and all else are those of the SQS message.
//
// These are malformed, see [batch.MalformedError]: an envelope that is cut off or
// has no Message; the confirmation of a subscription; and an envelope in an envelope, unless h is itself made by
// Unwrap.
//
// Without h there is no handler: what runs handlers refuses the nil that Unwrap
// returns then.
func Unwrap(h batch.Handler) batch.Handler {
	if wrapped.IsNil(h) {
		return nil
	}
	_, nested := h.(*unwrapper)
	return &unwrapper{h, nested}
}

// Notification is what SNS says of a message beside its text and attributes,
// which are the record's. It is no events.SNSEntity of aws-lambda-go, which has the
// text once more, attributes without their types, and no sequence number.
type Notification struct {
	// MessageID is SNS's id of the message, the same for all subscribers.
	MessageID string
	// TopicARN is the topic that it was published to.
	TopicARN string
	// Subject is the publisher's. Usually empty.
	Subject string
	// Timestamp is when it was published.
	Timestamp time.Time
	// SequenceNumber is set by FIFO topics only.
	SequenceNumber string
}

// From returns what SNS says of ctx's message, of the innermost envelope. It
// reports false for a message delivered raw, and outside of [Unwrap].
func From(ctx context.Context) (Notification, bool) {
	if n, ok := ctx.Value(key{}).(*Notification); ok {
		return *n, true
	}
	return Notification{}, false
}

type key struct{}

// With returns a context from which [From] gets n, for tests of functions.
func With(ctx context.Context, n Notification) context.Context {
	return valuectx.With(ctx, key{}, &n)
}

type unwrapper struct {
	next   batch.Handler
	nested bool // next opens envelopes as well
}

func (u *unwrapper) Validate() error { return wrapped.Validate(u.next) }

func (u *unwrapper) Handle(ctx context.Context, r batch.Record) error {
	e, reason, err := open(r.Body)
	switch {
	case reason != "":
	case e == nil:
		return u.next.Handle(ctx, r)
	case !u.nested && isEnvelope(e.Message):
		reason = "an SNS envelope in an SNS envelope: sns.Unwrap(sns.Unwrap(…)) opens both"
	}
	if reason != "" {
		return &batch.MalformedError{Reason: reason, Err: err}
	}
	r.Body = e.Message
	r.MD5OfBody, r.MD5OfMessageAttributes = "", ""
	if len(e.attributes) > 0 {
		if len(r.MessageAttributes) > 0 { // shared with the SQS message's record
			own := maps.Clone(r.MessageAttributes)
			maps.Copy(own, e.attributes)
			e.attributes = own
		}
		r.MessageAttributes = e.attributes
	}
	return u.next.Handle(batch.WithRecord(With(ctx, e.Notification), r), r)
}
