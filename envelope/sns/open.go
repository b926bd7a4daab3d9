package sns

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/jsonbody"
	"github.com/sqsbatch/sqsbatch/internal/jsontext"
)

// opened is the content of an envelope.
type opened struct {
	Notification
	Message    string
	attributes map[string]batch.MessageAttribute
}

// open returns an envelope's content, nil if the body is not an envelope, or a reason if
// the envelope is malformed.
func open(body string) (e *opened, reason string, err error) {
	if !looks(body) && !begins(body) {
		return nil, "", nil
	}
	env := new(envelope)
	err = json.Unmarshal([]byte(body), env)
	if err != nil && begins(body) && !json.Valid([]byte(body)) {
		return nil, "SNS envelope: " + jsonbody.Where(body, env), err
	}
	switch {
	case !env.written():
		return nil, "", nil
	case env.Type != notification:
		return nil, confirmations[env.Type], nil
	case err != nil:
		return nil, "SNS envelope: " + jsonbody.Where(body, env), err
	case env.Message == nil:
		return nil, "the SNS envelope has no Message", nil
	}
	published, err := time.Parse(time.RFC3339, env.Timestamp)
	if err != nil && env.Timestamp != "" {
		return nil, "SNS envelope: the Timestamp is not a valid time", err
	}
	attributes, err := env.attributes()
	if err != nil {
		return nil, "SNS envelope: the value of one of the MessageAttributes is not base64", err
	}
	return &opened{
		Notification: Notification{
			MessageID: env.MessageID, TopicARN: env.TopicARN, Subject: env.Subject,
			Timestamp: published, SequenceNumber: env.SequenceNumber,
		},
		Message:    *env.Message,
		attributes: attributes,
	}, "", nil
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
