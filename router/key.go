package router

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/jsonbody"
)

// Key finds in a record what it is routed by. An error says that the record has none: its
// text is told in logs and in the dead letter. A [batch.MalformedError] is the record's
// error as it is.
type Key func(r batch.Record) (string, error)

// Attribute is the key in a message attribute of type String or Number, as it was sent.
func Attribute(name string) Key {
	return func(r batch.Record) (string, error) {
		a, ok := r.MessageAttributes[name]
		if !ok || a.StringValue == "" {
			return "", fmt.Errorf("no handler: the message has no attribute %q with a text", name)
		}
		return a.StringValue, nil
	}
}

// Field is the key in a field of a JSON body: a string, or a number, true or false as it is
// written. The path leads to it through objects. Of several members with one name the first
// counts, and case matters. The body is read up to the field, and not decoded.
//
// A body that is no JSON up to there is malformed.
func Field(path ...string) Key {
	return func(r batch.Record) (string, error) {
		value, bad := jsonbody.Find(r.Body, path...)
		if bad != nil {
			return "", &batch.MalformedError{Reason: bad.Reason(), Err: bad.Unwrap()}
		}
		text, ok := jsonbody.Scalar(value)
		if !ok {
			return "", fmt.Errorf("no handler: the body has no field %q with a string, a number or a bool", strings.Join(path, "."))
		}
		return text, nil
	}
}

// Queue is the name of the record's queue as a key, for a function with several event
// sources.
func Queue(r batch.Record) (string, error) { return batch.QueueName(r.QueueARN), nil }

// Group is the message group as a key. Messages of a standard queue may have none.
func Group(r batch.Record) (string, error) {
	if r.GroupID == "" {
		return "", errors.New("no handler: the message has no group")
	}
	return r.GroupID, nil
}
