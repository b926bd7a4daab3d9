// Package sns takes messages out of the envelopes in which Amazon SNS delivers them to a
// queue that is subscribed to a topic:
//
//	handler.Run(sns.Unwrap(batch.JSON(shipOrder)))
//
// The function gets the published message: its text as the body, and the publisher's message
// attributes. Unwrap works with and without raw message delivery, so you can switch raw
// delivery on at any time. To get the subject and the topic, call From:
//
//	n, ok := sns.From(ctx) // false for a message that was delivered raw
//
// Envelopes may be nested. For S3 notifications that come through a topic use
// sns.Unwrap(s3event.Each(importObject)); for events of EventBridge
// sns.Unwrap(eventbridge.JSON(shipOrder)).
//
// Signatures are not verified: the queue's policy decides who may send to it. Logs, metrics
// and traces use the SQS message. So W3C headers in the publisher's attributes link the
// publisher's span only with raw message delivery.
//
// See "Fanout Amazon SNS notifications to Amazon SQS queues" and "Amazon SNS raw message
// delivery" in the Amazon SNS Developer Guide.
package sns

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"maps"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/ctxkey"
	"github.com/sqsbatch/sqsbatch/internal/jsonbody"
	"github.com/sqsbatch/sqsbatch/internal/plainjson"
	"github.com/sqsbatch/sqsbatch/internal/wrapped"
)

// Unwrap returns a handler that passes the message in an SNS envelope to h. It passes on any
// other body unchanged, since such a message was delivered raw, or was not sent by SNS.
//
// An envelope is a JSON object with the three members that SNS always writes: Type with a value
// of SNS, MessageId, and TopicArn with the ARN of a topic. A body of your own with only a field
// Type or Message is not an envelope.
//
// The record of h, also from [batch.RecordFrom], has the publisher's MessageAttributes in
// addition to those of the SQS message. It has no MD5 digests, since SQS's digests are of the
// envelope. Its other fields are from the SQS message.
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

// Notification has the fields of an SNS envelope, except text and attributes, which are in the
// record. Unlike events.SNSEntity of aws-lambda-go it has the sequence number.
type Notification struct {
	// MessageID is SNS's id of the message, the same for all subscribers.
	MessageID string
	// TopicARN is the topic of the message.
	TopicARN string
	// Subject is the subject that the publisher set. Usually empty.
	Subject string
	// Timestamp is the time of publication.
	Timestamp time.Time
	// SequenceNumber is set only by FIFO topics.
	SequenceNumber string
}

// From returns the notification of ctx's message, from the innermost envelope. It returns false
// for a message that was delivered raw, and outside [Unwrap].
func From(ctx context.Context) (Notification, bool) {
	if n, ok := ctx.Value(key{}).(*Notification); ok {
		return *n, true
	}
	return Notification{}, false
}

type key struct{}

// With returns a context from which [From] returns n, for tests of functions.
func With(ctx context.Context, n Notification) context.Context {
	return ctxkey.With(ctx, key{}, &n)
}

type unwrapper struct {
	next   batch.Handler
	nested bool // next is an unwrapper, too
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
		attributes := maps.Collect(maps.All(r.MessageAttributes)) // the record's map is shared
		maps.Copy(attributes, e.attributes)
		r.MessageAttributes = attributes
	}
	return u.next.Handle(batch.WithRecord(With(ctx, e.Notification), r), r)
}

// envelope is the JSON of SNS. encoding/json ignores case in TopicArn and MessageId.
type envelope struct {
	Notification
	Type              string
	Message           *string
	Timestamp         string // may be empty
	MessageAttributes map[string]struct{ Type, Value string }

	attributes map[string]batch.MessageAttribute // binary values decoded
}

// open returns an envelope's content, nil if the body is not an envelope, or a reason if
// the envelope is malformed.
func open(body string) (e *envelope, reason string, err error) {
	if !looks(body) && !begins(body) {
		return nil, "", nil
	}
	e = new(envelope)
	err = json.Unmarshal([]byte(body), e)
	if err != nil && begins(body) && !json.Valid([]byte(body)) {
		return nil, "SNS envelope: " + jsonbody.Where(body, e), err
	}
	switch {
	case !e.written():
		return nil, "", nil
	case e.Type != notification:
		return nil, confirmations[e.Type], nil
	case err != nil:
		return nil, "SNS envelope: " + jsonbody.Where(body, e), err
	case e.Message == nil:
		return nil, "the SNS envelope has no Message", nil
	}
	if e.Notification.Timestamp, err = time.Parse(time.RFC3339, e.Timestamp); err != nil && e.Timestamp != "" {
		return nil, "SNS envelope: the Timestamp is not a valid time", err
	}
	if err := e.decodeAttributes(); err != nil {
		return nil, "SNS envelope: the value of one of the MessageAttributes is not base64", err
	}
	return e, "", nil
}

func (e *envelope) decodeAttributes() error {
	e.attributes = make(map[string]batch.MessageAttribute, len(e.MessageAttributes))
	for name, a := range e.MessageAttributes {
		to := batch.MessageAttribute{DataType: a.Type, StringValue: a.Value}
		if strings.HasPrefix(a.Type, "Binary") {
			value, err := base64.StdEncoding.DecodeString(a.Value)
			if err != nil {
				return err
			}
			to.StringValue, to.BinaryValue = "", value
		}
		e.attributes[name] = to
	}
	return nil
}

// written reports whether SNS wrote e, even if e is malformed.
func (e *envelope) written() bool {
	switch e.Type {
	case notification, subscription, unsubscription:
	default:
		return false
	}
	partition, arn := strings.CutPrefix(e.TopicARN, "arn:")
	_, topic, _ := strings.Cut(partition, ":")
	return arn && strings.HasPrefix(topic, "sns:") && e.MessageID != ""
}

// isEnvelope reports whether a body is an envelope, even a malformed one.
func isEnvelope(body string) bool {
	e, reason, _ := open(body)
	return e != nil || reason != ""
}

const (
	notification   = "Notification"
	subscription   = "SubscriptionConfirmation"
	unsubscription = "UnsubscribeConfirmation"
)

// confirmations has advice about messages that are not notifications. See "Sending
// Amazon SNS messages to an Amazon SQS queue in a different account" and "HTTP/HTTPS
// unsubscribe confirmation JSON format" in the Amazon SNS Developer Guide.
var confirmations = map[string]string{
	subscription: "an SNS SubscriptionConfirmation, not a notification: the topic's account has subscribed a queue of another account. " +
		"Open its SubscribeURL to confirm, or subscribe from the queue's account, which needs no confirmation",
	unsubscription: "an SNS UnsubscribeConfirmation, not a notification: a subscription was deleted. " +
		"If that was intended, do nothing. Otherwise open its SubscribeURL to subscribe again",
}

// looks reports whether body contains the names of an envelope's fields. Only such bodies are decoded.
func looks(body string) bool {
	i := plainjson.SpaceEnd(body, 0)
	return i < len(body) && body[i] == '{' &&
		strings.Contains(body, `"TopicArn"`) && strings.Contains(body, `"MessageId"`) && strings.Contains(body, `"Type"`)
}

// begins reports whether body begins like an envelope, even one that is cut off, which must not
// be taken for a message that was delivered raw.
func begins(body string) bool {
	for _, token := range []string{"{", `"Type"`, ":"} {
		var ok bool
		if body, ok = strings.CutPrefix(body[plainjson.SpaceEnd(body, 0):], token); !ok {
			return false
		}
	}
	body = body[plainjson.SpaceEnd(body, 0):]
	return strings.HasPrefix(body, `"`+notification+`"`) || strings.HasPrefix(body, `"`+subscription+`"`) ||
		strings.HasPrefix(body, `"`+unsubscription+`"`)
}
