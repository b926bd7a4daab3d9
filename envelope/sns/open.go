package sns

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/jsonbody"
	"github.com/sqsbatch/sqsbatch/internal/jsontext"
)

// envelope is the JSON that SNS writes. encoding/json ignores case in TopicArn and MessageId.
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

// written reports whether SNS wrote it, even if something else is wrong with it.
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

// confirmations says what to do about messages that are not notifications. See "Sending
// Amazon SNS messages to an Amazon SQS queue in a different account" and "HTTP/HTTPS
// unsubscribe confirmation JSON format" in the Amazon SNS Developer Guide.
var confirmations = map[string]string{
	subscription: "an SNS SubscriptionConfirmation, not a notification: the topic's account has subscribed a queue of another account. " +
		"Open its SubscribeURL to confirm, or subscribe from the queue's account, which needs no confirmation",
	unsubscription: "an SNS UnsubscribeConfirmation, not a notification: a subscription was deleted. " +
		"If that was intended, do nothing. Otherwise open its SubscribeURL to subscribe again",
}

// looks reports whether body contains the names of an envelope's fields. Otherwise it does
// not have to be decoded.
func looks(body string) bool {
	i := jsontext.SpaceEnd(body, 0)
	return i < len(body) && body[i] == '{' &&
		strings.Contains(body, `"TopicArn"`) && strings.Contains(body, `"MessageId"`) && strings.Contains(body, `"Type"`)
}

// begins reports whether body begins like an envelope of SNS. An envelope that is cut off
// must not be taken for a message that was delivered raw.
func begins(body string) bool {
	for _, token := range []string{"{", `"Type"`, ":"} {
		var ok bool
		if body, ok = strings.CutPrefix(body[jsontext.SpaceEnd(body, 0):], token); !ok {
			return false
		}
	}
	body = body[jsontext.SpaceEnd(body, 0):]
	return strings.HasPrefix(body, `"`+notification+`"`) || strings.HasPrefix(body, `"`+subscription+`"`) ||
		strings.HasPrefix(body, `"`+unsubscription+`"`)
}
